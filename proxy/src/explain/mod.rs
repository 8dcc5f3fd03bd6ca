//! `telamon explain`: where statements would go, and why, without a server.
//!
//! Statements come from the command line, from standard input or from a server's log; each is classified,
//! judged by the configuration's rules and routed by the very functions that sessions use. What a session
//! would know from its server (`Simulated`) is taken from the statements' text, as far as that tells.

mod args;
mod lines;
mod log;
mod meaning;
mod session;
mod show;
mod summary;

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

pub use args::{Client, ExplainArgs};

use crate::config::{self, Config, ConfigErrors};
use crate::routing::{
    Asked, ClassCache, Dialect, Fallback, Hint, ReplicaFacts, Route, RuleSet, Rules, StatementClass, Verdict,
    Wish, route,
};
use crate::session::runs_on;
use log::{Entry, LogReader};
use session::Simulated;
use std::rc::Rc;
use summary::Summary;

/// Statements whose class is remembered.
const CLASSES: usize = 10_000;

/// Why nothing, or not all, was explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// The configuration has problems.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The log cannot be read.
    #[error("{path}: cannot be read: {source}")]
    Log {
        /// The log's path.
        path: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The file has no statement that a log has.
    #[error(
        "{0}: no statement found in it; expected is a general or slow log of MySQL or MariaDB (statements one a line \
         are read from standard input)"
    )]
    NoLog(String),
    /// A server version that begins with no number.
    #[error("--server-version {0:?}: expected is a version such as 8.0.36 or 10.11.6-MariaDB")]
    Version(String),
    /// Standard input or output failed.
    #[error("cannot read or write: {0}")]
    Io(#[from] io::Error),
}

impl ExplainError {
    /// Whether the usage or the configuration is to blame (exit code 2) and not the system (1).
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Config(_) | Self::NoLog(_) | Self::Version(_))
    }
}

/// Explains what the arguments name, to `out`. A reader of `out` that has seen enough is no error.
///
/// # Errors
/// [`ExplainError`].
pub fn run(args: &ExplainArgs, out: &mut impl Write) -> Result<(), ExplainError> {
    let unknown = |version: &&String| !version.starts_with(|first: char| first.is_ascii_digit());
    if let Some(version) = args.server_version.as_ref().filter(unknown) {
        return Err(ExplainError::Version(version.clone()));
    }
    let config = load(args.config.as_deref())?;
    let explainer = Explainer::new(config);
    let explained = match &args.log {
        Some(path) => explainer.log(args, path, out),
        None => explainer.statements(args, out),
    };
    match explained {
        Err(ExplainError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// The configuration that is named, else the default one, else the defaults.
fn load(named: Option<&Path>) -> Result<Config, ConfigErrors> {
    match named.map(Path::to_owned).or_else(config::default_path) {
        Some(path) => Config::load(&path),
        None => Ok(Config::default()),
    }
}

/// One statement, explained.
pub(crate) struct Explained<'a> {
    pub(crate) sql: &'a [u8],
    pub(crate) class: Rc<StatementClass>,
    pub(crate) route: Route,
    /// The first rule that matches, of the firewall's too.
    pub(crate) matching_rule: Option<&'a str>,
    /// The rule that had its way.
    pub(crate) rule: Option<&'a str>,
    pub(crate) dialect: Dialect,
}

struct Explainer {
    config: Config,
    rules: Arc<Rules>,
    classes: RefCell<ClassCache>,
    usable: usize,
}

impl Explainer {
    fn new(config: Config) -> Self {
        let rules = config.rules.iter().map(|rule| rule.rule.clone()).collect();
        let rules = Arc::new(Rules::new(rules, config.firewall.rejects));
        let classes = RefCell::new(ClassCache::with_rules(CLASSES, rules.clone()));
        // Without a configuration a replica is assumed; else every server is taken to be up.
        let usable = match config.servers.len() {
            0 => 1,
            _ => config.servers.iter().filter(|server| server.weight > 0).count(),
        };
        Self { config, rules, classes, usable }
    }

    /// The rules for a client.
    fn rules_for(&self, user: &str, client: Option<IpAddr>) -> RuleSet {
        let all = self.config.rules.iter().enumerate();
        self.rules.chosen(all.filter(|(_, rule)| rule.is_for(user.as_bytes(), client)).map(|(at, _)| at))
    }

    /// Where the statement goes, in the session as it is.
    fn explain<'a>(&'a self, sql: &'a [u8], session: &Simulated) -> Explained<'a> {
        let dialect = session.dialect;
        let (class, hint) = self.classify(sql, &dialect);
        let asked = Asked { class: &class, text: Some((sql, &dialect)), schema: session.schema.as_deref() };
        let verdict = self.rules.judge(&asked, &session.rules);
        let usable = match verdict {
            Verdict::Rule(id, Wish::Label) => self.labelled(self.rules.label(id).unwrap_or_default()),
            _ => self.usable,
        };
        let fallback = match self.config.routing.fallback {
            config::Fallback::Primary => Fallback::Primary,
            config::Fallback::Error => Fallback::Error,
        };
        let mut route = route(&class, hint, &session.facts(), &ReplicaFacts { usable, fallback }, verdict);
        route.target = runs_on(&route);
        let (matching_rule, rule) = (self.rules.name(verdict), self.rules.deciding(verdict, &route));
        Explained { sql, class, route, matching_rule, rule, dialect }
    }

    fn classify(&self, sql: &[u8], dialect: &Dialect) -> (Rc<StatementClass>, Option<Hint>) {
        let mut classes = self.classes.borrow_mut();
        match sql.len() < self.config.limits.classify_bytes {
            true => classes.classify(sql, dialect),
            false => (classes.unread(), None),
        }
    }

    fn labelled(&self, label: &str) -> usize {
        let has = |server: &&config::Server| server.labels.iter().any(|own| own == label);
        self.config.servers.iter().filter(has).count()
    }

    /// A session that has just begun.
    fn fresh(&self, args: &ExplainArgs) -> Simulated {
        let first = self.config.users.first();
        let user = args.user.as_deref().or(first.map(|user| user.name.as_str())).unwrap_or_default();
        let known = self.config.user(user).and_then(|user| user.schema.as_deref());
        let schema = args.schema.as_deref().or(known);
        let rules = self.rules_for(user, args.client.address());
        Simulated::new(args.dialect(), schema.map(|schema| schema.as_bytes().to_vec()), rules)
    }

    /// The statements of the command line, else of standard input, as one session would send them.
    fn statements(&self, args: &ExplainArgs, out: &mut impl Write) -> Result<(), ExplainError> {
        let mut session = self.fresh(args);
        let mut first = true;
        let mut one = |sql: &[u8], out: &mut _| -> io::Result<()> {
            let explained = self.explain(sql, &session);
            if args.json {
                show::json(&explained, out)?;
            } else {
                show::text(&explained, first, out)?;
            }
            first = false;
            session.after(&explained);
            Ok(())
        };
        if !args.sql.is_empty() {
            for sql in &args.sql {
                one(sql.as_encoded_bytes(), out)?;
            }
            return Ok(out.flush()?);
        }
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        while lines::next(&mut input, &mut line, self.longest())? {
            if !line.trim_ascii().is_empty() {
                one(&line, out)?;
                out.flush()?; // for those who type, and for those who wait at a pipe
            }
        }
        Ok(())
    }

    /// Longer texts are not read; enough is kept to see that they are longer.
    fn longest(&self) -> usize {
        self.config.limits.classify_bytes
    }

    /// All statements of a log: one object each, or a summary.
    fn log(&self, args: &ExplainArgs, path: &Path, out: &mut impl Write) -> Result<(), ExplainError> {
        let shown = path.display().to_string();
        let failed = |source| ExplainError::Log { path: shown.clone(), source };
        let input: Box<dyn BufRead> = match path.to_str() {
            Some("-") => Box::new(io::stdin().lock()),
            _ => Box::new(BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?)),
        };
        let mut reader = LogReader::new(input, self.longest());
        let mut sessions = session::Sessions::default();
        let mut summary = Summary::default();
        while let Some(Entry { connection, event }) = reader.next().map_err(failed)? {
            if let log::Event::Started(version) = &event {
                sessions
                    .restart(args.server_version.is_none().then(|| Dialect::from_server_version(version)));
                continue;
            }
            let session = sessions.of(connection, || self.fresh(args));
            let Some(sql) = session.statement(&event, |user, client| self.rules_for(user, client)) else {
                if matches!(event, log::Event::Quit) {
                    sessions.end(connection);
                }
                continue;
            };
            let explained = self.explain(sql, session);
            if args.json {
                show::json(&explained, out)?;
            } else {
                summary.add(&explained);
            }
            session.after(&explained);
        }
        if !args.json && sessions.seen() == 0 {
            return Err(ExplainError::NoLog(shown));
        }
        if !args.json {
            summary.write(&shown, sessions.seen(), args.most, out)?;
        }
        Ok(out.flush()?)
    }
}

#[cfg(test)]
mod tests;
