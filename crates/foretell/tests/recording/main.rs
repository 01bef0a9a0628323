//! Programs of C and C++ built, recorded and replayed by the command.

mod channels;
mod command;
mod elision;
mod ends;
mod failed_rmw;
mod projects;
mod transfer;
mod volatile;
mod workshop;
