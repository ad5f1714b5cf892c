//! The arguments: `{"label": "example.com/rank"}`. There is nothing but one text to read, so this
//! needs no JSON library; what it does not know it refuses.

const WANTED: &str = "label: required: the name of the label whose number is the score";

/// The text of the argument `label`, or what the user has to mend.
pub fn label(json: &str) -> Result<String, String> {
    let mut rest = Rest(json.as_bytes());
    let mut label = None;
    rest.expect(b'{')?;
    if !rest.next_is(b'}') {
        loop {
            let name = rest.text().ok_or("the arguments are not a JSON object")?;
            if name != "label" {
                return Err(format!("{}: unknown argument, the only one is label", name));
            }
            rest.expect(b':')?;
            label = Some(rest.text().ok_or("label: must be a text without escapes")?);
            if !rest.next_is(b',') {
                break;
            }
        }
        rest.expect(b'}')?;
    }
    rest.end()?;
    let label = label.ok_or(WANTED)?;
    check(&label)?;
    Ok(label)
}

/// `prefix/name` or `name`, of the characters that Kubernetes allows: a name that no node can have
/// is a mistake in the profile.
fn check(label: &str) -> Result<(), String> {
    let name = label.rsplit('/').next().unwrap_or("");
    let known = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if name.is_empty() || name.len() > 63 || label.starts_with('/') || !label.chars().all(known) {
        return Err(format!("label: \"{}\" is not the name of a label", label));
    }
    Ok(())
}

/// What is left of the JSON text; blanks before what is asked for are skipped.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn skip_blanks(&mut self) {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.0 {
            self.0 = rest;
        }
    }

    fn next_is(&mut self, wanted: u8) -> bool {
        self.skip_blanks();
        match self.0 {
            [first, rest @ ..] if *first == wanted => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, wanted: u8) -> Result<(), String> {
        if self.next_is(wanted) {
            Ok(())
        } else {
            Err(format!("the arguments are not a JSON object: no {:?}", wanted as char))
        }
    }

    fn end(&mut self) -> Result<(), String> {
        self.skip_blanks();
        if self.0.is_empty() {
            Ok(())
        } else {
            Err("the arguments are not a JSON object: something is behind it".into())
        }
    }

    /// No name of a label needs an escape.
    fn text(&mut self) -> Option<String> {
        if !self.next_is(b'"') {
            return None;
        }
        let length = self.0.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        let (text, rest) = self.0.split_at(length);
        self.0 = rest.strip_prefix(b"\"")?;
        Some(std::str::from_utf8(text).ok()?.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(json: &str) -> String {
        label(json).unwrap_err()
    }

    #[test]
    fn reads_the_label() {
        assert_eq!(label(r#"{"label":"example.com/rank"}"#).unwrap(), "example.com/rank");
        assert_eq!(label(" {\n\"label\" : \"rank\" }\t").unwrap(), "rank");
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(error("{}"), WANTED);
        assert_eq!(error(r#"{"lable":"a"}"#), "lable: unknown argument, the only one is label");
        assert_eq!(error(r#"{"label":7}"#), "label: must be a text without escapes");
        assert_eq!(error(r#"{"label":null}"#), "label: must be a text without escapes");
        for name in ["", "a/", "/a", "a b", "ä", &"a".repeat(64)] {
            let json = format!("{{\"label\":\"{}\"}}", name);
            assert_eq!(error(&json), format!("label: \"{}\" is not the name of a label", name));
        }
    }

    #[test]
    fn refuses_what_is_no_object() {
        let good = r#"{"label":"rank"}"#;
        for end in 0..good.len() {
            label(&good[..end]).unwrap_err();
        }
        for bad in ["[]", "{}x", "{,}", r#"{"label":"rank",}"#, r#"{"label":"a\"b"}"#] {
            label(bad).unwrap_err();
        }
    }
}
