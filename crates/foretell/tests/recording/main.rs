//! Programs of C and C++ built, recorded and replayed by the command.

mod command;
mod ends;
mod projects;
mod workshop;
