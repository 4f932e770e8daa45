//! The picture as it is on terminals of several sizes.

use super::super::keys::Action;
use super::super::model::{Kind, Model};
use super::super::rows::Column;
use super::super::testing::update;
use super::super::update::{ThreadRow, Update};
use super::{Theme, draw};
use heapwise_analysis::{Breakdown, Bytes, MemorySample, Nanos};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

fn rich() -> Update {
    let mut update = update(&[
        ("parse::line", "src/parse.rs:120"),
        ("server::Connection::read_request_with_a_long_name", "src/server/connection.rs:77"),
        ("list_resize", "python3.11"),
    ]);
    update.curve = (0..100u64)
        .map(|i| MemorySample { time: Nanos(i), rss: Some(Bytes(i << 20)), live: Bytes(i << 19) })
        .collect();
    update.parts = Some(Breakdown {
        time: Nanos(12_000_000_000),
        rss: Bytes(64 << 20),
        live: Bytes(30 << 20),
        free_pages: Bytes(10 << 20),
        not_heap: Bytes(20 << 20),
        external_fragmentation: Bytes(4 << 20),
        ..Breakdown::default()
    });
    update.threads = vec![
        ThreadRow { tid: 4711, name: "server".into(), live: 5 << 20, rate: [9, 900], ..ThreadRow::default() },
        ThreadRow { tid: 4712, name: "worker".into(), live: 9 << 20, ..ThreadRow::default() },
    ];
    update
}

fn model(update: Update) -> Model {
    let mut model = Model::new(Kind::File, "a.hw".to_owned());
    model.take(update);
    model
}

fn picture(model: &mut Model, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("memory");
    terminal.draw(|frame| draw(frame, model, &Theme::new(true))).expect("memory");
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect()
}

#[test]
fn a_usual_terminal_shows_what_matters() {
    let lines = picture(&mut model(rich()), 80, 24);
    let all = lines.join("\n");
    assert!(
        lines[0].contains("./server --port 80") && lines[0].contains("running · 12.3 s · pid 4711"),
        "{all}"
    );
    assert!(lines[1].starts_with("RSS  64.0 MiB") && lines[1].ends_with('█'), "{all}");
    assert!(lines[2].starts_with("peak 80.0 MiB"), "{all}");
    assert!(lines[3].starts_with("live 30.0 MiB"), "{all}");
    assert!(lines[5].starts_with("0 allocs/s · 0 B/s · 12,345 live blocks"), "{all}");
    let parts = "RSS 64.0 MiB at 12.0 s: live 30.0 MiB · not heap 20.0 MiB · rest 14.0 MiB";
    assert_eq!(lines[6], parts, "{all}");
    assert!(lines[7].contains("live▾") && lines[7].contains("3 places; growth since"), "{all}");
    assert!(lines[8].contains("3.00 MiB") && lines[8].contains("list_resize  python3.11"), "{all}");
    assert!(lines[9].contains("…") && lines[9].ends_with("connection.rs:77"), "{all}");
    assert!(
        lines[23].starts_with("q quit  ? help  s sort  / filter  m mark  t threads  h HTML  p pause"),
        "{all}"
    );
}

#[test]
fn a_wide_terminal_shows_more_and_a_small_one_the_least() {
    let wide = picture(&mut model(rich()), 120, 40);
    let all = wide.join("\n");
    assert!(wide[0].contains("glibc 2.36"), "{all}");
    assert!(all.contains("Connection::read_request_with_a_long_name  connection.rs:77"), "{all}");
    assert!(all.contains("blocks") && all.contains("external fragmentation 4.00 MiB"), "{all}");
    let small = picture(&mut model(rich()), 40, 10);
    let all = small.join("\n");
    assert!(small[0].contains("running") && small[1].starts_with("RSS  64.0 MiB"), "{all}");
    assert!(all.contains("\n3.00 MiB list_resize  python3.11"), "{all}");
    assert!(small[9].starts_with("q quit  ? help"), "{all}");
}

#[test]
fn no_size_is_too_small() {
    for (width, height) in (1..=12).flat_map(|w| (1..=12).map(move |h| (w * 11 - 10, h * 4 - 3))) {
        for action in [None, Some(Action::Threads), Some(Action::Help), Some(Action::Filter)] {
            let mut model = model(rich());
            action.map(|action| model.act(action));
            picture(&mut model, width, height);
            picture(&mut Model::new(Kind::File, "a.hw".to_owned()), width, height);
        }
    }
}

#[test]
fn an_estimate_says_so_and_an_end_is_seen() {
    let mut sampled = rich();
    (sampled.subject.sample_bytes, sampled.parts) = (512 << 10, None);
    let lines = picture(&mut model(sampled.clone()), 80, 24);
    assert!(lines[0].contains("estimates"), "{lines:?}");
    assert!(lines[6].contains("cannot be said of a sample"), "{lines:?}");
    assert!(picture(&mut model(sampled.clone()), 40, 10)[0].contains("estimates"));
    sampled.end = Some("ended with code 3".to_owned());
    let lines = picture(&mut model(sampled), 120, 24);
    assert!(lines[0].contains("ended with code 3") && lines[0].contains("a sample of 512 KiB"), "{lines:?}");
    assert!(lines[1].starts_with("RSS   "), "nothing is resident any more: {lines:?}");
}

#[test]
fn what_was_not_read_yet_and_what_is_over_is_said() {
    let mut behind = rich();
    (behind.is_behind, behind.read) = (true, (450, 1000));
    let lines = picture(&mut model(behind), 80, 24);
    assert!(lines[0].contains("catching up, 45 %") && !lines[0].contains("running"), "{lines:?}");
    let mut over = rich();
    (over.end, over.parts_are_past, over.rate) = (Some("ended with code 0".to_owned()), true, [9, 99]);
    over.subject.goes_on = true;
    let lines = picture(&mut model(over), 80, 24);
    assert!(lines[5].starts_with("0 allocs/s · 0 B/s"), "{lines:?}");
    assert!(lines[6].starts_with("before its end, RSS 64.0 MiB at 12.0 s: live 30.0 MiB"), "{lines:?}");
    assert!(lines[7].ends_with("growth since this file began"), "{lines:?}");
    let mut sampled = rich();
    sampled.subject.sample_bytes = 512 << 10;
    let lines = picture(&mut model(sampled), 80, 24);
    assert!(lines[7].contains("samples"), "{lines:?}");
}

#[test]
fn keys_change_the_picture() {
    let mut model = model(rich());
    model.act(Action::Threads);
    let threads = picture(&mut model, 80, 24);
    assert!(threads[8].ends_with("worker (4712)") && threads[9].ends_with("server (4711)"), "{threads:?}");
    model.act(Action::Threads);
    model.act(Action::Sort(Column::Requests));
    model.act(Action::Filter);
    "pars".chars().for_each(|c| _ = model.act(Action::Type(c)));
    let typing = picture(&mut model, 80, 24);
    assert!(typing[23].starts_with("filter: pars▏"), "{typing:?}");
    assert!(typing[7].contains("allocs/s▾") && typing[7].contains("1 place with “pars”"), "{typing:?}");
    assert!(typing[8].contains("parse::line") && typing[9].is_empty(), "{typing:?}");
    model.act(Action::Clear);
    model.act(Action::Help);
    assert!(picture(&mut model, 80, 24).join("\n").contains("count growth from now on"));
    model.act(Action::Pause);
    assert!(picture(&mut model, 80, 24)[0].contains("PAUSED"));
}

#[test]
fn what_is_waited_for_is_named() {
    let lines = picture(&mut Model::new(Kind::File, "dir/late.hw".to_owned()), 60, 12);
    assert!(lines.join("\n").contains("waiting for dir/late.hw"), "{lines:?}");
}

#[test]
fn without_colours_there_are_none() {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("memory");
    let mut model = model(rich());
    terminal.draw(|frame| draw(frame, &mut model, &Theme::new(false))).expect("memory");
    let cells = terminal.backend().buffer().content();
    assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
}
