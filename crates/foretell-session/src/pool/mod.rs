//! Work by other processes, on this machine or on others: a *pool*.
//!
//! The session connects to a Unix socket and sends work items; the pool has each done by some
//! worker, anywhere, and answers. Session and pool exchange lines, each a JSON object:
//!
//! | from | line | meaning |
//! |---|---|---|
//! | session | `{"job": {…}, "version": "…", "files": […]}` | first line: what the items have in common, and the files and directories that they need |
//! | pool | `{"capacity": N}` | number of items that are useful at a time; again whenever it changes |
//! | session | `{"id": N, "item": {…}, "files": […]}` | a work item, with the files that it alone needs |
//! | session | `{"wanted": N}` | the session waits for this item: it is best done before others |
//! | session | `{"progress": {…}}` | counters to show |
//! | pool | `{"id": N, "answer": {…}}` | the item is done |
//! | pool | `{"id": N, "error": "…"}` | the item cannot be done; the session ends with this line |
//!
//! A pool hands the job and an item to a worker (`foretell work`, [`work`]). A *run* has a
//! directory as its result: the item says in `into` where the session looks for it, and the pool
//! puts it there by one rename before it answers.
//!
//! The session decides what is done and in which order results count. So they do not depend on
//! the pool.

mod job;
mod worker;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Error;
pub(crate) use job::{Job, files_of, program, text};
pub use worker::work;

/// Time between two looks at the limits of the caller.
const PAUSE: Duration = Duration::from_millis(100);
/// Time that a pool has to end after the session.
const FAREWELL: Duration = Duration::from_secs(1);

/// Connection to a pool.
#[derive(Debug)]
pub(crate) struct Pool {
    path: PathBuf,
    stream: Mutex<UnixStream>,
    shared: Arc<Shared>,
}

#[derive(Default, Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// Known of the pool.
#[derive(Default, Debug)]
struct State {
    capacity: usize,
    last: u64,
    /// Items that have no answer yet.
    open: HashSet<u64>,
    /// Answers that were not taken yet.
    answers: HashMap<u64, Result<Value, String>>,
    /// The reason why no more answers come.
    ended: Option<String>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a line of the pool.
    fn note(&self, line: &str) -> Result<(), String> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let mut state = self.lock();
        if let Some(capacity) = value["capacity"].as_u64() {
            state.capacity = capacity as usize;
        } else if let Some(id) = value["id"].as_u64() {
            let answer = match value["error"].as_str() {
                Some(error) => Err(error.to_owned()),
                None => Ok(value["answer"].clone()),
            };
            if state.open.remove(&id) {
                state.answers.insert(id, answer);
            }
        } else {
            return Err(format!("not a line of a pool: {line}"));
        }
        Ok(())
    }

    /// Reads the lines of the pool until it ends.
    fn follow(&self, stream: UnixStream) {
        let mut ended = "it has ended".to_owned();
        for line in BufReader::new(stream).lines() {
            let noted = line.map_err(|error| error.to_string()).and_then(|line| self.note(&line));
            self.changed.notify_all();
            if let Err(error) = noted {
                ended = error;
                break;
            }
        }
        self.lock().ended = Some(ended);
        self.changed.notify_all();
    }
}

impl Pool {
    /// Connects to the pool at a socket, and sends it the job. Returns when the pool is ready.
    pub(crate) fn connect(path: &Path, job: &Job, files: &[PathBuf]) -> Result<Pool, Error> {
        let stream = UnixStream::connect(path).map_err(Error::file(path))?;
        let reader = stream.try_clone().map_err(Error::file(path))?;
        let shared = Arc::new(Shared::default());
        let follower = Arc::clone(&shared);
        std::thread::spawn(move || follower.follow(reader));
        let pool = Pool { path: path.to_path_buf(), stream: Mutex::new(stream), shared };
        let version = env!("CARGO_PKG_VERSION");
        let files: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        pool.send(&json!({"job": job.to_json()?, "version": version, "files": files}))?;
        pool.wait_for(|state| (state.capacity > 0).then_some(()))?;
        Ok(pool)
    }

    /// Returns the number of items that the pool can do beside those that it has.
    pub(crate) fn free(&self) -> usize {
        let state = self.shared.lock();
        state.capacity.saturating_sub(state.open.len())
    }

    /// Returns the number of items that are useful at a time.
    pub(crate) fn capacity(&self) -> usize {
        self.shared.lock().capacity
    }

    /// Sends a work item. Returns its number.
    pub(crate) fn submit(&self, item: &Value, files: &[PathBuf]) -> Result<u64, Error> {
        let id = {
            let mut state = self.shared.lock();
            state.last += 1;
            let id = state.last;
            state.open.insert(id);
            id
        };
        let files: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        self.send(&json!({"id": id, "item": item, "files": files}))?;
        Ok(id)
    }

    /// Tells the pool that the session waits for the answer to an item, if it has not come.
    pub(crate) fn want(&self, id: u64) -> Result<(), Error> {
        if !self.shared.lock().open.contains(&id) {
            return Ok(());
        }
        self.send(&json!({"wanted": id}))
    }

    /// Waits a moment for the answer to an item. Returns whether it has come.
    pub(crate) fn is_done(&self, id: u64) -> Result<bool, Error> {
        let state = self.shared.lock();
        let is_open = |state: &mut State| state.open.contains(&id) && state.ended.is_none();
        let waited = self.shared.changed.wait_timeout_while(state, PAUSE, is_open);
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let (is_open, ended) = (state.open.contains(&id), state.ended.clone());
        drop(state);
        foretell_limit::check_now();
        match ended {
            Some(why) if is_open => Err(self.lost(&why)),
            _ => Ok(!is_open),
        }
    }

    /// Waits for the answer to an item, and returns it. A limit of the caller ends the wait.
    pub(crate) fn answer(&self, id: u64) -> Result<Value, Error> {
        self.wait_for(|state| state.answers.remove(&id))?
            .map_err(|error| Error::Unsupported(format!("the pool: {error}")))
    }

    /// Sends counters to show. They are not needed, so that no error matters.
    pub(crate) fn show(&self, progress: Value) {
        let _ = self.send(&json!({"progress": progress}));
    }

    fn send(&self, line: &Value) -> Result<(), Error> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = stream.write_all(format!("{line}\n").as_bytes());
        sent.map_err(|_| self.lost("it has ended"))
    }

    fn lost(&self, why: &str) -> Error {
        Error::Unsupported(format!("{}: the pool is lost: {why}", self.path.display()))
    }

    fn wait_for<T>(&self, mut found: impl FnMut(&mut State) -> Option<T>) -> Result<T, Error> {
        let mut state = self.shared.lock();
        loop {
            if let Some(value) = found(&mut state) {
                return Ok(value);
            }
            if let Some(why) = &state.ended {
                return Err(self.lost(why));
            }
            let waited = self.shared.changed.wait_timeout(state, PAUSE);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            foretell_limit::check_now();
            state = self.shared.lock();
        }
    }
}

impl Drop for Pool {
    /// Ends the connection, and gives the pool a moment to clear its progress.
    fn drop(&mut self) {
        let stream = self.stream.get_mut().unwrap_or_else(PoisonError::into_inner);
        if stream.shutdown(Shutdown::Write).is_ok() {
            let is_open = |state: &mut State| state.ended.is_none();
            drop(self.shared.changed.wait_timeout_while(self.shared.lock(), FAREWELL, is_open));
        }
        // The thread that reads has the socket, too.
        let _ = stream.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use foretell_launch::Launch;
    use foretell_translate::Blocks;

    use super::*;

    /// Runs a session against a pool that answers each line of the session by `answer`.
    fn with_pool<T>(
        answer: impl Fn(&Value) -> String + Send + 'static,
        session: impl FnOnce(Result<Pool, Error>) -> T,
    ) -> T {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pool");
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let reader = BufReader::new(stream.try_clone().unwrap());
            for line in reader.lines().map_while(Result::ok) {
                let answer = answer(&serde_json::from_str(&line).unwrap());
                if answer.is_empty() || stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        });
        let job = Job::new(&Launch::new(vec!["/bin/true".into()]), &Blocks::default());
        let result = session(Pool::connect(&path, &job, &[]));
        server.join().unwrap();
        result
    }

    #[test]
    fn answers_come_in_any_order() {
        let answer = |line: &Value| match line["id"].as_u64() {
            None => "{\"capacity\":2}\n".to_owned(),
            Some(1) => "{\"capacity\":3}\n".to_owned(),
            Some(_) => "{\"id\":2,\"answer\":5}\n{\"id\":1,\"error\":\"why\"}\n".to_owned(),
        };
        with_pool(answer, |pool| {
            let pool = pool.unwrap();
            let (a, b) = (pool.submit(&json!({}), &[]), pool.submit(&json!({}), &[]));
            assert!(pool.answer(a.unwrap()).unwrap_err().to_string().contains("why"));
            assert_eq!(pool.answer(b.unwrap()).unwrap(), 5);
            assert_eq!((pool.capacity(), pool.free()), (3, 3));
        });
    }

    #[test]
    fn lost_pool_is_an_error() {
        for answer in ["", "nonsense\n", "{}\n"] {
            let error = with_pool(move |_| answer.to_owned(), |pool| pool.unwrap_err().to_string());
            assert!(error.contains("the pool is lost"), "{error}");
        }
    }
}
