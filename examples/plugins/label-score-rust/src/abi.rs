//! The part of `plimsoll/objects.h` and `plimsoll/plugin_abi.h` that this plugin uses: ABI 1.0, so
//! it runs in every scheduler that speaks 1.x. What the scheduler hands over by pointer is mirrored
//! up to the last field that is read: structs grow at the end only.
//!
//! References to these structs come from the scheduler, which keeps what they point at unchanged
//! for the call. That makes the functions below safe to use; nothing outside of this module can
//! make such a struct out of other pointers.
#![allow(dead_code)] // a mirror has fields that nobody here looks at

use std::ffi::c_void;
use std::marker::PhantomData;
use std::os::raw::c_char;

pub const ABI_MAJOR: u16 = 1;
pub const ABI_MINOR: u16 = 0;

pub const SUCCESS: i32 = 0;
pub const ERROR: i32 = 1;
pub const UNSCHEDULABLE_AND_UNRESOLVABLE: i32 = 3;

pub const ASPECT_LABELS: u32 = 1 << 2;
pub const ACTION_ADD: u32 = 1 << 0;
pub const ACTION_UPDATE_NODE_LABEL: u32 = 1 << 3;
pub const FLAG_NORMALIZES_BY_EXTREMES: u32 = 1; // since 1.1

/// A function of a table that this plugin neither calls nor has: a null pointer in its own table.
pub type Unused = *const c_void;
pub const NONE: Unused = std::ptr::null();

/// A borrowed text, not NUL-terminated.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str<'a> {
    data: *const c_char,
    len: u32,
    symbol: u32, // 0: none, compare the text
    of: PhantomData<&'a [u8]>,
}

impl<'a> Str<'a> {
    pub const fn new(text: &'a str) -> Str<'a> {
        Str { data: text.as_ptr().cast(), len: text.len() as u32, symbol: 0, of: PhantomData }
    }

    pub fn bytes(&self) -> &'a [u8] {
        if self.len == 0 {
            return &[]; // its pointer may be null
        }
        // SAFETY: whoever made it vouches for `len` bytes, see the head of this file.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.len as usize) }
    }
}

#[repr(C)]
pub struct List<'a, T> {
    data: *const T,
    count: u32,
    stride: u32,
    of: PhantomData<&'a [T]>,
}

impl<'a, T> List<'a, T> {
    pub fn of_one(element: &'a T) -> List<'a, T> {
        List { data: element, count: 1, stride: std::mem::size_of::<T>() as u32, of: PhantomData }
    }

    /// Goes by the list's own stride: its elements may be larger than `T`.
    pub fn iter(&self) -> impl Iterator<Item = &'a T> {
        let (data, stride) = (self.data.cast::<u8>(), self.stride as usize);
        // SAFETY: whoever made it vouches for `count` elements, see the head of this file.
        (0..self.count as usize).map(move |i| unsafe { &*data.add(i * stride).cast::<T>() })
    }
}

#[repr(C)]
pub struct Label<'a> {
    key: Str<'a>,
    value: Str<'a>,
}

#[repr(C)]
pub struct Meta<'a> {
    size: u32,
    reserved: u32,
    name: Str<'a>,
    ns: Str<'a>,
    uid: Str<'a>,
    resource_version: Str<'a>,
    labels: List<'a, Label<'a>>,
}

#[repr(C)]
pub struct Node<'a> {
    size: u32,
    unschedulable: u32,
    meta: Meta<'a>,
}

#[repr(C)]
pub struct NodeInfo<'a> {
    size: u32,
    slot: u32,
    generation: u64,
    node: &'a Node<'a>,
}

impl NodeInfo<'_> {
    pub fn label(&self, key: &str) -> Option<&[u8]> {
        let mut labels = self.node.meta.labels.iter();
        labels.find(|label| label.key.bytes() == key.as_bytes()).map(|label| label.value.bytes())
    }
}

#[repr(C)]
pub struct Nodes<'a> {
    size: u32,
    count: u32,
    rows: *const &'a NodeInfo<'a>,
}

impl<'a> Nodes<'a> {
    pub fn rows(&self) -> &[&'a NodeInfo<'a>] {
        if self.count == 0 {
            return &[];
        }
        // SAFETY: the scheduler vouches for `count` rows, see the head of this file.
        unsafe { std::slice::from_raw_parts(self.rows, self.count as usize) }
    }
}

#[repr(C)]
pub struct EventInterest {
    pub resource: Str<'static>,
    pub actions: u32,
    pub reserved: u32,
}

/// What the scheduler offers; it lives as long as the process, and any thread may use this part.
#[repr(C)]
pub struct Host {
    pub size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    ctx: *mut c_void,
    log: Unused,
    set_error: unsafe extern "C" fn(*mut c_void, Str),
    intern: Unused,
    resource_index: Unused,
    reason: unsafe extern "C" fn(*mut c_void, *const Str, u32) -> u32,
}

impl Host {
    /// The text of an ERROR that this call is about to return.
    pub fn set_error(&self, text: &str) {
        // SAFETY: the header allows it on any thread; the text is copied.
        unsafe { (self.set_error)(self.ctx, Str::new(text)) }
    }

    pub fn reason(&self, text: &str) -> u32 {
        // SAFETY: as above.
        unsafe { (self.reason)(self.ctx, &Str::new(text), 1) }
    }
}

// The pod and the cycle are not looked at.
pub type Filter = unsafe extern "C" fn(
    *const c_void,
    *const c_void,
    *const c_void,
    *const Nodes,
    *mut u8,
    *mut u32,
) -> i32;
pub type Score = unsafe extern "C" fn(
    *const c_void,
    *const c_void,
    *const c_void,
    *const Nodes,
    *mut i64,
) -> i32;
pub type Put = unsafe extern "C" fn(*mut c_void, *const c_void, usize);

/// The table of ABI 1.0, as the plugin fills it.
#[repr(C)]
pub struct Plugin {
    pub size: u32,
    pub filter_aspects: u32,
    pub score_aspects: u32,
    pub flags: u32,
    pub this: *mut c_void,
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub start: Unused,
    pub pre_enqueue: Unused,
    pub sort_key: Unused,
    pub events: unsafe extern "C" fn(*mut c_void) -> List<'static, EventInterest>,
    pub hint: Unused,
    pub pre_filter: Unused,
    pub add_pod: Unused,
    pub remove_pod: Unused,
    pub filter: Filter,
    pub post_filter: Unused,
    pub pre_score: Unused,
    pub score: Score,
    pub normalize: Score,
    pub reserve: Unused,
    pub unreserve: Unused,
    pub permit: Unused,
    pub pre_bind_pre_flight: Unused,
    pub pre_bind: Unused,
    pub bind: Unused,
    pub post_bind: Unused,
    pub sign: unsafe extern "C" fn(*mut c_void, *const c_void, Put, *mut c_void) -> i32,
    pub node_event: Unused,
    pub pod_event: Unused,
    pub object_event: Unused,
    pub explain: Unused,
}

#[repr(C)]
pub struct Note {
    pub size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub plugin_size: u32,
    pub build_flags: u32, // 0: no sanitizer
    pub capabilities: u64,
    pub name: [u8; 64],
    pub version: [u8; 32],
    pub sdk_version: [u8; 32],
    pub license: [u8; 32],
}

/// `Note` with the header that every ELF note has.
#[repr(C)]
pub struct ElfNote {
    pub name_size: u32,
    pub descriptor_size: u32,
    pub kind: u32,
    pub name: [u8; 12],
    pub descriptor: Note,
}

/// The text, filled up with NULs; one too long for that does not compile.
pub const fn text<const SIZE: usize>(text: &str) -> [u8; SIZE] {
    assert!(text.len() < SIZE);
    let mut out = [0; SIZE];
    let mut i = 0;
    while i < text.len() {
        out[i] = text.as_bytes()[i];
        i += 1;
    }
    out
}

// The sizes of ABI 1.0; of a struct that is mirrored in part, where its next field begins. Another
// one does not compile. The offsets are in the test below: Rust 1.63 cannot take them here.
const fn holds<T>(size: usize, align: usize) {
    assert!(std::mem::size_of::<T>() == size && std::mem::align_of::<T>() == align);
}
const _: () = {
    holds::<Str>(16, 8);
    holds::<List<Label>>(16, 8);
    holds::<Label>(32, 8);
    holds::<Meta>(88, 8); // of 144
    holds::<Node>(96, 8); // its meta is not whole: nothing behind that may be read
    holds::<NodeInfo>(24, 8); // of 88
    holds::<Nodes>(16, 8);
    holds::<EventInterest>(24, 8);
    holds::<Host>(56, 8); // of 192
    holds::<Plugin>(232, 8);
    holds::<Note>(184, 8);
    holds::<ElfNote>(24 + 184, 8);
};

/// A host that keeps the last error of its thread.
#[cfg(test)]
pub mod fake {
    use super::*;
    use std::cell::RefCell;

    thread_local!(static LAST_ERROR: RefCell<Vec<u8>> = RefCell::default());

    unsafe extern "C" fn set_error(_ctx: *mut c_void, text: Str) {
        LAST_ERROR.with(|last| *last.borrow_mut() = text.bytes().to_vec());
    }

    unsafe extern "C" fn reason(_ctx: *mut c_void, _texts: *const Str, _count: u32) -> u32 {
        1
    }

    pub fn host() -> Host {
        Host {
            size: std::mem::size_of::<Host>() as u32,
            abi_major: ABI_MAJOR,
            abi_minor: ABI_MINOR,
            ctx: std::ptr::null_mut(),
            log: NONE,
            set_error,
            intern: NONE,
            resource_index: NONE,
            reason,
        }
    }

    pub fn last_error() -> String {
        LAST_ERROR.with(|last| String::from_utf8(last.take()).unwrap())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;
    use std::ptr::addr_of;

    macro_rules! offsets {
        ($type:ty: $($field:ident $offset:expr),+) => {{
            let place = MaybeUninit::<$type>::uninit();
            let base = place.as_ptr();
            // SAFETY: takes addresses within `place`, reads nothing.
            $(assert_eq!(unsafe { addr_of!((*base).$field) } as usize - base as usize, $offset,
                         "{}.{}", stringify!($type), stringify!($field));)+
        }};
    }

    /// The numbers of Plimsoll's tests/sdk/layout_test.cpp, which no version 1.x changes.
    #[test]
    fn fields_lie_where_the_header_puts_them() {
        offsets!(Str: data 0, len 8, symbol 12);
        offsets!(List<Label>: data 0, count 8, stride 12);
        offsets!(Label: key 0, value 16);
        offsets!(Meta: size 0, name 8, ns 24, uid 40, resource_version 56, labels 72);
        offsets!(Node: size 0, unschedulable 4, meta 8);
        offsets!(NodeInfo: size 0, slot 4, generation 8, node 16);
        offsets!(Nodes: size 0, count 4, rows 8);
        offsets!(EventInterest: resource 0, actions 16, reserved 20);
        offsets!(Host: size 0, abi_major 4, abi_minor 6, ctx 8, log 16, set_error 24, intern 32,
                 resource_index 40, reason 48);
        offsets!(Plugin: size 0, filter_aspects 4, score_aspects 8, flags 12, this 16, destroy 24,
                 start 32, pre_enqueue 40, sort_key 48, events 56, hint 64, pre_filter 72,
                 add_pod 80, remove_pod 88, filter 96, post_filter 104, pre_score 112, score 120,
                 normalize 128, reserve 136, unreserve 144, permit 152, pre_bind_pre_flight 160,
                 pre_bind 168, bind 176, post_bind 184, sign 192, node_event 200, pod_event 208,
                 object_event 216, explain 224);
        offsets!(Note: size 0, abi_major 4, abi_minor 6, plugin_size 8, build_flags 12,
                 capabilities 16, name 24, version 88, sdk_version 120, license 152);
        offsets!(ElfNote: name_size 0, descriptor_size 4, kind 8, name 12, descriptor 24);
    }

    #[test]
    fn lists_are_walked_with_their_own_stride() {
        let wide = [(1u32, 7u32), (2, 7), (3, 7)];
        let list = List::<u32> { data: wide.as_ptr().cast(), count: 3, stride: 8, of: PhantomData };
        assert_eq!(list.iter().copied().collect::<Vec<_>>(), [1, 2, 3]);
        let none = List::<u32> { data: NONE.cast(), count: 0, stride: 0, of: PhantomData };
        assert_eq!(none.iter().count(), 0);
        let nothing = Str { data: NONE.cast(), len: 0, symbol: 0, of: PhantomData };
        assert_eq!(nothing.bytes(), b"");
    }
}
