//! telamon-bench: measures what Telamon costs.
//!
//! | room | what | must not know |
//! |---|---|---|
//! | [`lab`] | throw-away clusters and the proxy as a process | what is measured |
//! | [`plan`], [`target`] | what a run is, and where it goes | how it is sent |
//! | [`client`] | the connections of the hot loop | what a statement is for |
//! | [`schema`] | sysbench's tables | |
//! | [`workload`] | events: statements from random numbers | sockets, clocks |
//! | [`driver`] | sends events, measures | what they mean |
//! | [`comparability`], [`counters`], [`cpu`], [`environment`] | what targets, servers and machine say of themselves | |
//! | [`stats`] | ratios and their intervals | where numbers come from |
//! | [`ab`], [`matrix`], [`slap`] | targets, server settings, mysqlslap's load in turns | |
//! | [`seeds`] | published comparisons | |
//! | [`live`] | what is seen meanwhile | |
//! | [`report`] | tables for the reader | where numbers come from |
//! | [`demo`], [`background`] | the commands that put these together | |

pub mod ab;
pub mod background;
pub mod client;
pub mod comparability;
pub mod counters;
pub mod cpu;
pub mod demo;
pub mod driver;
pub mod environment;
pub mod lab;
pub mod live;
pub mod matrix;
pub mod plan;
pub mod report;
pub mod schema;
pub mod seeds;
pub mod slap;
pub mod stats;
pub mod target;
pub mod workload;
