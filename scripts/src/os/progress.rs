// SPDX-License-Identifier: GPL-2.0-only

//! What a person sees while something takes long: a line that lives on a terminal, else two lines.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

static LINES: LazyLock<MultiProgress> =
    LazyLock::new(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));

/// One piece of work that is under way.
pub struct Progress {
    what: String,
    line: Option<ProgressBar>,
    start: Instant,
}

/// Prints a result, above the lines of what is under way, with a line end if it has none. If it
/// cannot be written there is nobody to work for: we end.
pub fn print(text: &str) {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = LINES.suspend(|| {
        let mut output = io::stdout().lock();
        write!(output, "{text}{end}").and_then(|()| output.flush())
    });
    match written {
        Ok(()) => {}
        // As SIGPIPE ends whoever writes to a reader that has read enough.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => std::process::exit(141),
        Err(e) => {
            say(&format!("repmov: cannot write the output: {e}"));
            std::process::exit(2)
        }
    }
}

/// Says something beside the results. If that cannot be written, nothing is lost.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

impl Progress {
    pub fn start(what: &str) -> Progress {
        let line = std::io::stderr().is_terminal().then(|| {
            let line = LINES.add(ProgressBar::new_spinner());
            let style = "{spinner} {prefix} {elapsed:>4}  {wide_msg:.dim}";
            line.set_style(ProgressStyle::with_template(style).expect("a template that parses"));
            line.set_prefix(what.to_string());
            line.enable_steady_tick(Duration::from_millis(120));
            line
        });
        if line.is_none() {
            say(&format!("{what} ..."));
        }
        let what = what.to_string();
        let start = Instant::now();
        Progress { what, line, start }
    }

    /// For work that is over before anybody could read of it.
    pub fn silent() -> Progress {
        let (what, line, start) = (String::new(), None, Instant::now());
        Progress { what, line, start }
    }

    /// Says what is being done just now. Nothing comes of it where nobody watches.
    pub fn say(&self, doing: &str) {
        if let Some(line) = &self.line {
            line.set_message(doing.trim().to_string());
        }
    }

    pub fn watched(&self) -> bool {
        self.line.is_some()
    }

    /// Ends the line with the time that the work took.
    pub fn done(self) -> Duration {
        let took = self.start.elapsed();
        self.end(&format!("{}: {:.1} s", self.what, took.as_secs_f32()));
        took
    }

    /// Ends the line with `word` in place of a time.
    pub fn fail(self, word: &str) {
        self.end(&format!("{}: {word}", self.what));
    }

    fn end(&self, text: &str) {
        match &self.line {
            Some(line) => {
                line.finish_and_clear();
                LINES.remove(line);
                // Nothing is lost if the terminal is gone.
                let _ = LINES.println(text);
            }
            None => say(text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}
