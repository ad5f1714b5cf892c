//! LabelScore prefers the nodes with the highest number in a label: Score. Its Filter refuses nodes
//! that have no number there; a profile that only wants the preference enables Score alone.
//!
//! This file is the plugin. `abi` mirrors the C headers, `boundary` is what the scheduler calls.

#![warn(unsafe_op_in_unsafe_fn)]

mod abi;
mod args;
mod boundary;

/// What one profile's instance knows. It never changes, so any thread may read it.
struct LabelScore {
    label: String,
    no_number: u32,
}

impl LabelScore {
    fn new(host: &abi::Host, args_json: &str) -> Result<LabelScore, String> {
        let label = args::label(args_json)?;
        // The name comes from the profile, so the set of reasons stays bounded.
        let no_number = host.reason(&format!("node(s) had no number in the label {}", label));
        Ok(LabelScore { label, no_number })
    }

    fn number(&self, node: &abi::NodeInfo) -> Option<u32> {
        number(node.label(&self.label)?)
    }

    /// A row whose code is not 0 was refused by another plugin.
    fn filter(&self, nodes: &[&abi::NodeInfo], codes: &mut [u8], reasons: &mut [u32]) {
        for (i, node) in nodes.iter().enumerate() {
            if codes[i] == abi::SUCCESS as u8 && self.number(node).is_none() {
                codes[i] = abi::UNSCHEDULABLE_AND_UNRESOLVABLE as u8;
                reasons[i] = self.no_number;
            }
        }
    }

    /// A node without a number, which only comes where Filter is off, is as good as one with 0.
    fn score(&self, nodes: &[&abi::NodeInfo], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            *score = i64::from(self.number(node).unwrap_or(0));
        }
    }
}

/// Kubernetes allows no sign in a label's value.
fn number(value: &[u8]) -> Option<u32> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// To 0..100, as Kubernetes' default does it.
fn normalize(scores: &mut [i64]) {
    let highest = scores.iter().copied().max().unwrap_or(0);
    if highest > 0 {
        scores.iter_mut().for_each(|score| *score = *score * 100 / highest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_only() {
        assert_eq!(number(b"40"), Some(40));
        assert_eq!(number(b"4294967295"), Some(u32::MAX));
        for other in ["", "4294967296", "-1", "4.5", "forty", " 4"] {
            assert_eq!(number(other.as_bytes()), None, "{:?}", other);
        }
        assert_eq!(number(b"\xff"), None);
    }

    #[test]
    fn normalizes_to_a_hundred() {
        let mut scores = [0, 10, 40, i64::from(u32::MAX)];
        normalize(&mut scores[..3]);
        assert_eq!(scores[..3], [0, 25, 100]);
        normalize(&mut scores[3..]);
        assert_eq!(scores[3], 100);
        normalize(&mut scores[..1]);
        assert_eq!(scores[0], 0);
        normalize(&mut []);
    }
}
