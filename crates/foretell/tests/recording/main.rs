//! Programs of C and C++ built, recorded and replayed by the command.

mod annotations;
mod channels;
mod ci_page;
mod client_requests;
mod command;
mod copied_values;
mod elision;
mod ends;
mod exits;
mod failed_rmw;
mod install;
mod interrupted;
mod names;
mod observed;
mod outputs;
mod own_names;
mod processes;
mod projects;
mod suite;
mod transfer;
mod volatile;
mod workshop;
