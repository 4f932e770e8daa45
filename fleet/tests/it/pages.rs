//! The pages of `heapwise fleet serve`, as a browser asks for them.

use crate::made;
use crate::program::{Listening, ended, fleet, recordings, run};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A server for pages.
struct Server(Listening);

impl Server {
    fn start(folder: &Path, more: &[&str]) -> Self {
        Self(Listening::start("serve", &[folder], more))
    }

    /// The status and the page.
    fn ask(&self, method: &str, path: &str, host: &str, header: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.0.address).expect("a connection");
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{header}\r\n")
            .expect("asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.to_lowercase().contains("x-content-type-options: nosniff"), "{head}");
        (status, body.to_owned())
    }

    fn page(&self, path: &str) -> String {
        let (status, page) = self.ask("GET", path, &self.0.address, "");
        assert_eq!(status, 200, "{path}: {page}");
        page
    }
}

fn links(page: &str) -> impl Iterator<Item = String> {
    page.split("<a href=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().expect("its end").replace("&amp;", "&"))
}

#[test]
fn every_link_leads_to_a_page_and_nothing_else_is_on_it() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &recordings(), 0..3 * made::DAYS);
    let server = Server::start(folder.path(), &[]);
    let (mut seen, mut waiting) = (BTreeSet::new(), vec!["/".to_owned()]);
    while let Some(path) = waiting.pop() {
        // Of each kind a few: they are many.
        let kind: Vec<&str> = path
            .split(['/', '?', '&', '='])
            .filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
            .collect();
        let kind = kind.join("/");
        let of_kind = seen.iter().filter(|(other, _)| *other == kind).count();
        if of_kind == 2 || !seen.insert((kind.clone(), path.clone())) {
            continue;
        }
        let (status, page) = server.ask("GET", &path, &server.0.address, "");
        // A service with one release has no growth.
        assert!(status == 200 || status == 404 && page.contains("only one release"), "{path}: {page}");
        assert!(page.contains("Content-Security-Policy") && !page.contains("<script"), "{path}");
        for link in links(&page) {
            assert!(link.starts_with('/') && !link.starts_with("//"), "{path}: {link}");
            waiting.push(link);
        }
    }
    assert!(seen.len() > 15, "{seen:?}");
    let flame = seen.iter().find(|(_, path)| path.contains("/flame")).expect("a flame graph");
    assert!(server.page(&flame.1).contains("<svg class=\"flame\""));
    let site = seen.iter().find(|(_, path)| path.contains("/site/")).expect("a call site");
    assert!(server.page(&site.1).contains("<h2>Stack</h2>"));
    let recording = seen.iter().find(|(_, path)| path.contains("/recording/")).expect("a recording");
    assert!(server.page(&recording.1).contains("Memory over time"));
    let growth = server.page("/ask/growth?service=service-1&old=1&new=3");
    assert!(growth.contains("old: <code>1</code>"), "{growth}");
}

#[test]
fn what_is_not_there_is_said_and_strangers_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &recordings(), 0..3);
    let server = Server::start(folder.path(), &[]);
    let status = |path: &str| server.ask("GET", path, &server.0.address, "").0;
    assert_eq!(status("/"), 200);
    for nothing in [
        "/x",
        "/service/x",
        "/recording/x",
        "/service/service-1/site/x",
        "/ask/x",
        "/service/service-1/flame?by=x",
    ] {
        assert_eq!(status(nothing), 404, "{nothing}");
    }
    let hostile = "/service/%3Cscript%3Ealert(1)%3C/script%3E%27%20or%201=1";
    let (code, page) = server.ask("GET", hostile, &server.0.address, "");
    assert!(code == 404 && !page.contains("<script"), "{page}");
    // A page of somewhere else, under a name that leads here.
    assert_eq!(server.ask("GET", "/", "evil.example", "").0, 403);
    let part = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: image\r\n";
    assert_eq!(server.ask("GET", "/", &server.0.address, part).0, 403);
    let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: document\r\n";
    assert_eq!(server.ask("GET", "/", &server.0.address, link).0, 200);
    assert_eq!(server.ask("POST", "/", &server.0.address, "").0, 405);
}

#[test]
fn with_a_token_only_who_has_it_is_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    made::add(folder.path(), &recordings(), 0..3);
    let token = folder.path().join("token");
    std::fs::write(&token, "0123456789abcdef0123").expect("written");
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).expect("set");
    let path = token.to_str().expect("text");
    let server = Server::start(folder.path(), &["--token-file", path]);
    let with = |header: &str| server.ask("GET", "/", "any.example", header);
    assert_eq!(with("").0, 401);
    assert_eq!(with("Authorization: Bearer 0123456789abcdef0123\r\n").0, 200);
    // A name and the token as the password, as a browser sends them.
    assert_eq!(with("Authorization: Basic YW55OjAxMjM0NTY3ODlhYmNkZWYwMTIz\r\n").0, 200);
    assert_eq!(with("Authorization: Basic YW55Om90aGVy\r\n").0, 401);
    let name = folder.path().to_str().expect("text");
    let (_, err) =
        ended(&fleet(&["fleet", "serve", name, "--listen", "0.0.0.0:0"]).output().expect("the program"), 2);
    assert!(err.contains("that takes --token-file"), "{err}");
    assert!(run(&["fleet", "serve", "--help"]).0.contains("--listen"));
}
