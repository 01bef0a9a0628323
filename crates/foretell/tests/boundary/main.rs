//! Programs at the boundary of what is recorded: each is correct and must give no finding and the
//! output of the plain program; its twin, built with `-DBUG`, has a bug that must be found, or
//! that a rule for code which is not recorded is known to hide.

mod commands;
mod java;
mod library_code;
mod lock_tables;
mod programs;
mod random;
mod scenarios;
mod ways;
mod workshop;
