//! What the scheduler calls, and the note that it reads before it loads the file. Everything here
//! takes C's view apart and hands the rest to safe code; no panic gets past `guarded`.

use crate::abi::{self, EventInterest, Host, List, Nodes, Note, Plugin, Put, Str, NONE};
use crate::LabelScore;
use std::any::Any;
use std::ffi::c_void;
use std::mem::size_of;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// What stands behind the `this` of the table.
struct Instance {
    host: &'static Host,
    plugin: LabelScore,
}

/// Runs `call`. What goes wrong in it becomes an error with a text, a panic too: it costs the pod
/// its attempt, not the scheduler its life.
fn guarded(host: &Host, call: impl FnOnce() -> Result<(), String>) -> i32 {
    let text = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return abi::SUCCESS,
        Ok(Err(text)) => text,
        Err(panic) => panic_text(&*panic),
    };
    host.set_error(&text);
    abi::ERROR
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the plugin panicked: {}", text.unwrap_or("no text"))
}

/// The `count` places at `data` that the scheduler lends for one call.
///
/// # Safety
/// They are there, and nobody else uses them meanwhile.
unsafe fn places<'a, T>(data: *mut T, count: usize) -> &'a mut [T] {
    if count == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(data, count) }
}

unsafe extern "C" fn filter(
    this: *const c_void,
    _cycle: *const c_void,
    _pod: *const c_void,
    nodes: *const Nodes,
    codes: *mut u8,
    reasons: *mut u32,
) -> i32 {
    // SAFETY: the header's contract: `this` is create's, the rest is valid for the call.
    let (this, rows) = unsafe { (&*this.cast::<Instance>(), (*nodes).rows()) };
    let (codes, reasons) = unsafe { (places(codes, rows.len()), places(reasons, rows.len())) };
    guarded(this.host, || {
        this.plugin.filter(rows, codes, reasons);
        Ok(())
    })
}

unsafe extern "C" fn score(
    this: *const c_void,
    _cycle: *const c_void,
    _pod: *const c_void,
    nodes: *const Nodes,
    scores: *mut i64,
) -> i32 {
    // SAFETY: as in filter.
    let (this, rows) = unsafe { (&*this.cast::<Instance>(), (*nodes).rows()) };
    let scores = unsafe { places(scores, rows.len()) };
    guarded(this.host, || {
        this.plugin.score(rows, scores);
        Ok(())
    })
}

unsafe extern "C" fn normalize(
    this: *const c_void,
    _cycle: *const c_void,
    _pod: *const c_void,
    nodes: *const Nodes,
    scores: *mut i64,
) -> i32 {
    // SAFETY: as in filter.
    let (this, rows) = unsafe { (&*this.cast::<Instance>(), (*nodes).rows()) };
    let scores = unsafe { places(scores, rows.len()) };
    guarded(this.host, || {
        crate::normalize(scores);
        Ok(())
    })
}

/// Nothing of the pod decides, so all pods have the same, empty signature.
unsafe extern "C" fn sign(
    _this: *mut c_void,
    _pod: *const c_void,
    _put: Put,
    _sink: *mut c_void,
) -> i32 {
    abi::SUCCESS
}

/// A pod that Filter refused is tried again when a node comes or gets another label.
unsafe extern "C" fn events(_this: *mut c_void) -> List<'static, EventInterest> {
    struct Shared(EventInterest);
    // SAFETY: constant, and its text too.
    unsafe impl Sync for Shared {}
    static NODES: Shared = Shared(EventInterest {
        resource: Str::new("Node"),
        actions: abi::ACTION_ADD | abi::ACTION_UPDATE_NODE_LABEL,
        reserved: 0,
    });
    List::of_one(&NODES.0)
}

unsafe extern "C" fn destroy(this: *mut c_void) {
    // SAFETY: it comes from create, and this is the last call with it.
    drop(unsafe { Box::from_raw(this.cast::<Instance>()) });
}

/// Makes an instance and fills in the table: the one symbol of the file.
///
/// # Safety
/// As the header says: `host` stays valid for ever, `out` has as many bytes as its `size` says.
#[no_mangle]
pub unsafe extern "C" fn plimsoll_plugin_create_v1(
    host: *const Host,
    args_json: Str,
    out: *mut Plugin,
) -> i32 {
    // SAFETY: the caller's promise. Of `out` only `size` may be read yet.
    let (host, room) = unsafe { (&*host, std::ptr::addr_of!((*out).size).read()) };
    guarded(host, || {
        let room = room as usize >= size_of::<Plugin>();
        if host.abi_major != abi::ABI_MAJOR || (host.size as usize) < size_of::<Host>() || !room {
            return Err("this scheduler does not speak plugin ABI 1".into());
        }
        let args = std::str::from_utf8(args_json.bytes()).map_err(|e| e.to_string())?;
        let plugin = LabelScore::new(host, args)?;
        let table = table(host, Box::into_raw(Box::new(Instance { host, plugin })));
        // SAFETY: there is room for it.
        unsafe { out.write(table) };
        Ok(())
    })
}

fn table(host: &Host, instance: *mut Instance) -> Plugin {
    Plugin {
        size: size_of::<Plugin>() as u32,
        filter_aspects: abi::ASPECT_LABELS,
        score_aspects: abi::ASPECT_LABELS,
        flags: if host.abi_minor >= 1 { abi::FLAG_NORMALIZES_BY_EXTREMES } else { 0 },
        this: instance.cast(),
        destroy,
        start: NONE,
        pre_enqueue: NONE,
        sort_key: NONE,
        events,
        hint: NONE,
        pre_filter: NONE,
        add_pod: NONE,
        remove_pod: NONE,
        filter,
        post_filter: NONE,
        pre_score: NONE,
        score,
        normalize,
        reserve: NONE,
        unreserve: NONE,
        permit: NONE,
        pre_bind_pre_flight: NONE,
        pre_bind: NONE,
        bind: NONE,
        post_bind: NONE,
        sign,
        node_event: NONE,
        pod_event: NONE,
        object_event: NONE,
        explain: NONE,
    }
}

/// Nobody in the program refers to it, so `used` keeps it; the section's name makes it a note.
#[used]
#[link_section = ".note.plimsoll"]
static NOTE: abi::ElfNote = abi::ElfNote {
    name_size: "Plimsoll\0".len() as u32,
    descriptor_size: size_of::<Note>() as u32,
    kind: 1,
    name: abi::text("Plimsoll"),
    descriptor: Note {
        size: size_of::<Note>() as u32,
        abi_major: abi::ABI_MAJOR,
        abi_minor: abi::ABI_MINOR,
        plugin_size: size_of::<Plugin>() as u32,
        build_flags: 0,
        capabilities: 0,
        name: abi::text("LabelScore"),
        version: abi::text(env!("CARGO_PKG_VERSION")),
        sdk_version: abi::text("none"), // the headers alone
        license: abi::text(env!("CARGO_PKG_LICENSE")),
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(call: fn() -> Result<(), String>) -> String {
        let host = abi::fake::host();
        assert_eq!(guarded(&host, call), abi::ERROR);
        abi::fake::last_error()
    }

    #[test]
    fn errors_and_panics_become_texts() {
        assert_eq!(error_of(|| Err("no".into())), "no");
        assert_eq!(error_of(|| panic!("one")), "the plugin panicked: one");
        assert_eq!(error_of(|| panic!("{}", 2)), "the plugin panicked: 2");
        assert_eq!(error_of(|| std::panic::panic_any(3)), "the plugin panicked: no text");
        assert_eq!(guarded(&abi::fake::host(), || Ok(())), abi::SUCCESS);
    }
}
