//! `cargo xtask`: reads the command line and calls the task.

#![forbid(unsafe_code)]

use anyhow::{Result, bail};
use lexopt::prelude::*;
use std::process::ExitCode;
use xtask::demo::Size;
use xtask::{bench, book, demo, dist, pictures, schemas, test, tidy, web, windows};

const HELP: &str = "\
Tasks of this workspace.

Usage: cargo xtask TASK

  test [--only STEP] [--without STEP] [--no-install]
          all that a change has to pass: the steps fmt, tidy, clippy, build, dist, and beside
          each other model, web, windows and test;
          programs that tests need are installed if this is root and there is apt-get
  layers  write the list of wings and crates into ARCHITECTURE.md
  dist [--no-install]
          build the programs and pack them into target/dist: a tar.gz and a .deb for Linux, a .zip for Windows
  schemas write the JSON Schemas of what heapwise writes into docs/schema
  tidy    the rules that the compiler does not check: layers, unsafe code, licences, ...
  web [--check] [--no-install]
          build the program of the HTML report into crates/present/report;
          with --check, see that what is there is what would be built, and test it in a browser
  windows [--no-install]
          build for Windows, run the tests there under Wine, and compare reports with those of Linux
  book    build the book of docs/book into target/book; mdbook is installed there if there is none
  pictures
          draw the pictures of the book again, each by a command of heapwise
  demo [--size small|full]
          record the contest program and show what heapwise says about it
  bench record [--pairs N] [--only WORKLOAD] [--quick]
          what recording costs, beside a run without and a run under heaptrack
  bench analyze [--pairs N] [--quick]
          what it costs to analyse a hundred million events, beside heaptrack_print
  bench replay [--pairs N] [--only WORKLOAD] [--quick] [--real-only]
          how well a replay predicts what real programs do under each allocator
  bench peers [--pairs N] [--only PROGRAM] [--quick]
          what other tools cost that say where a program allocates, and whether they are right
  bench library [--pairs N] [--only CANDIDATE] [--quick]
          what wrappers of the global allocator add to a call, the library's beside others
";

fn main() -> ExitCode {
    match run(lexopt::Parser::from_env()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut parser: lexopt::Parser) -> Result<()> {
    let task = match parser.next()? {
        None | Some(Short('h') | Long("help")) => "help".to_owned(),
        Some(Value(task)) => task.string()?,
        Some(other) => return Err(other.unexpected().into()),
    };
    match task.as_str() {
        "help" => print!("{HELP}"),
        "test" => {
            let mut options = test::Options { only: None, without: None, install: true };
            while let Some(argument) = parser.next()? {
                match argument {
                    Long("only") => options.only = Some(parser.value()?.string()?.parse()?),
                    Long("without") => options.without = Some(parser.value()?.string()?.parse()?),
                    Long("no-install") => options.install = false,
                    _ => return Err(argument.unexpected().into()),
                }
            }
            test::run(&options)?;
        }
        "tidy" => {
            no_more(&mut parser)?;
            tidy::run()?;
        }
        "dist" => {
            let mut install = true;
            while let Some(argument) = parser.next()? {
                match argument {
                    Long("no-install") => install = false,
                    _ => return Err(argument.unexpected().into()),
                }
            }
            dist::run(install)?;
        }
        "layers" => {
            no_more(&mut parser)?;
            tidy::write_layers()?;
        }
        "book" => {
            no_more(&mut parser)?;
            println!("{}", book::run()?.display());
        }
        "pictures" => {
            no_more(&mut parser)?;
            pictures::run()?;
        }
        "schemas" => {
            no_more(&mut parser)?;
            schemas::write()?;
        }
        "web" => {
            let (mut check, mut install) = (false, true);
            while let Some(argument) = parser.next()? {
                match argument {
                    Long("check") => check = true,
                    Long("no-install") => install = false,
                    _ => return Err(argument.unexpected().into()),
                }
            }
            if check { web::check(install)? } else { web::build(install)? }
        }
        "windows" => {
            let mut install = true;
            while let Some(argument) = parser.next()? {
                match argument {
                    Long("no-install") => install = false,
                    _ => return Err(argument.unexpected().into()),
                }
            }
            windows::run(install)?;
        }
        "demo" => {
            let mut size = Size::Full;
            while let Some(argument) = parser.next()? {
                match argument {
                    Long("size") => size = parser.value()?.string()?.parse()?,
                    _ => return Err(argument.unexpected().into()),
                }
            }
            demo::run(size)?;
        }
        // The rest of the line is for the program that measures.
        "bench" => bench::run(&parser.raw_args()?.collect::<Vec<_>>())?,
        _ => bail!("there is no task {task}; `cargo xtask help` lists them"),
    }
    Ok(())
}

fn no_more(parser: &mut lexopt::Parser) -> Result<()> {
    match parser.next()? {
        None => Ok(()),
        Some(argument) => Err(argument.unexpected().into()),
    }
}
