//! Why a run was given up, in one line with the mend.

use std::io;

use thiserror::Error;

use crate::client::ClientError;

/// Why a run was given up.
#[derive(Debug, Error)]
pub enum DriverError {
    /// A connection could not be made.
    #[error("cannot connect to {name} at {address}: {source}; {}", mend(.source))]
    Connect {
        /// The target's name.
        name: String,
        /// Its address and account.
        address: String,
        /// The system's or the server's answer.
        source: ClientError,
    },
    /// A statement failed with an error that is not passed over.
    #[error("{name} answered {statement:?} with: {source}; {}", mend(.source))]
    Statement {
        /// The target's name.
        name: String,
        /// The statement's beginning.
        statement: String,
        /// The server's answer, or what became of the connection.
        source: ClientError,
    },
}

impl DriverError {
    /// The name of the target that it happened at.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            DriverError::Connect { name, .. } | DriverError::Statement { name, .. } => name,
        }
    }

    /// What happened.
    #[must_use]
    pub fn cause(&self) -> &ClientError {
        match self {
            DriverError::Connect { source, .. } | DriverError::Statement { source, .. } => source,
        }
    }
}

/// What a user can do about it.
#[must_use]
pub fn mend(error: &ClientError) -> &'static str {
    match error {
        ClientError::Connect(source) => match source.kind() {
            io::ErrorKind::ConnectionRefused => "is the server up, and is this its port?",
            io::ErrorKind::NotFound => "is the host or socket spelled right?",
            io::ErrorKind::TimedOut => "does a firewall stand between?",
            _ => "check the address",
        },
        ClientError::Server { code, .. } => match code {
            1045 | 1044 | 1698 => "check user and password, and that the account may log in from here",
            1049 => "make the schema and its tables with `telamon-bench prepare`",
            1146 => "make the tables with `telamon-bench prepare` and the same --tables",
            1040 | 1203 | 1226 => "raise max_connections, or use fewer --threads",
            1461 => "raise max_prepared_stmt_count, or use --db-ps-mode disable",
            1290 | 1836 => "the target is read-only; this workload writes",
            1153 => "raise max_allowed_packet",
            _ => "pass over such errors with --ignore-errors if the workload may meet them",
        },
        ClientError::Lost(_) => "did the server or proxy end? --ignore-errors 2013 connects again",
        ClientError::NoAnswer { .. } => "does the server hang, or wait for a lock?",
        ClientError::Interrupted => "what was measured until then is kept",
        ClientError::Protocol(_) => "is it a MySQL server?",
    }
}
