//! Opens a report with whatever opens pages on this machine.

use std::io::IsTerminal;
use std::path::Path;

/// Whether the output goes to a terminal, so that a page that opens is expected.
pub fn is_watched() -> bool {
    std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}

/// Opens a page, at one of its parts if that is named.
pub fn open(page: &Path, part: Option<&str>) {
    let opened = match part {
        Some(part) => open::that_detached(address(page, part)),
        None => open::that_detached(page),
    };
    if let Err(error) = opened {
        crate::say!("heapwise: warning: cannot start a browser ({error}); open {} with one", page.display());
    }
}

/// The address of a part of a page. Whatever means something in an address is written as a number.
pub fn address(page: &Path, part: &str) -> String {
    let mut address = String::from("file://");
    let path = page.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    if !path.starts_with('/') {
        address.push('/');
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~:".contains(&byte) {
            address.push(char::from(byte));
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    format!("{address}#{part}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn paths_become_addresses() {
        let cases = [
            ("/tmp/a.html", "file:///tmp/a.html#flame"),
            ("/tmp/a b#c?%.html", "file:///tmp/a%20b%23c%3F%25.html#flame"),
            ("/ä", "file:///%C3%A4#flame"),
        ];
        for (path, expected) in cases {
            assert_eq!(address(Path::new(path), "flame"), expected);
        }
    }
}
