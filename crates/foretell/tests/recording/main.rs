//! Programs of C and C++ built, recorded and replayed by the command.

mod attempts;
mod channels;
mod command;
mod ends;
mod handed_over;
mod passed_over;
mod projects;
mod volatile;
mod workshop;
