//! Channels: kernel objects through which one thread sends and another receives.
//!
//! The number of a channel depends on the kernel's object alone, not on the descriptor: both ends
//! of a pipe and every duplicate of them are one channel. The number is no memory address (its
//! first byte is not zero), so it can stand where the address of a synchronisation object does.

use crate::record::byte_enum;

byte_enum!(
    /// Kind of a channel.
    Channel {
        /// A pipe, named or not: bytes in order.
        Pipe = 0,
        /// One direction of a pair of stream sockets: bytes in order.
        Stream = 1,
        /// One direction of a pair of sockets that keep messages apart.
        Datagram = 2,
        /// An `eventfd`: a read takes the whole count.
        Event = 3,
        /// The content of a file.
        File = 4,
        /// A connection, both directions; the other end may be another process.
        Connection = 5,
        /// Incoming connections of a listening socket.
        Listener = 6,
        /// A signal, by its number.
        Signal = 7,
        /// The order that annotations at an address give.
        Annotation = 8,
        /// The name of a file, or the content of a directory.
        Path = 9,
        /// State of the C library that its functions protect.
        Library = 10,
    }
);

const MARK: u8 = 0xc0;

impl Channel {
    /// Returns the number of a channel of this kind, with a hash of the values that identify it.
    pub fn number(self, what: &[u64]) -> u64 {
        // The finaliser of SplitMix64 over a running sum.
        let hash = what.iter().fold(self as u64, |hash, &word| {
            let mut z = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        u64::from(MARK | self as u8) << 56 | hash >> 8
    }

    /// Returns the kind of the channel with this number.
    pub fn of(number: u64) -> Option<Channel> {
        let first = (number >> 56) as u8;
        (first & 0xf0 == MARK).then(|| Channel::from_u8(first & 0x0f)).flatten()
    }

    /// Whether bytes are received in the order they were sent, so that counting them tells which
    /// thread sent them.
    pub fn counts_bytes(self) -> bool {
        matches!(self, Channel::Pipe | Channel::Stream)
    }

    /// Returns the name of the kind for users.
    pub fn word(self) -> &'static str {
        match self {
            Channel::Pipe => "pipe",
            Channel::Stream | Channel::Datagram => "socket",
            Channel::Event => "eventfd",
            Channel::File => "file",
            Channel::Connection => "connection",
            Channel::Listener => "listener",
            Channel::Signal => "signal",
            Channel::Annotation => "annotation",
            Channel::Path => "path",
            Channel::Library => "library state",
        }
    }
}

/// Values in a [`Sent`](crate::SyncKind::Sent) record beside the channel.
pub mod sent {
    /// Added to the number of bytes: they are sent while other threads run.
    pub const WAITED: u64 = 1 << 63;
}

/// Values in a [`Received`](crate::SyncKind::Received) record beside the channel.
pub mod received {
    /// Added to the number of bytes: more was asked for than came.
    pub const SHORT: u64 = 1 << 63;
    /// Added to the number of bytes: the file is mapped, and stores to memory may have changed it.
    pub const MAPPED: u64 = 1 << 62;
    /// Everything but the number of bytes.
    pub const FLAGS: u64 = SHORT | MAPPED;
}

/// Values in a [`Looked`](crate::SyncKind::Looked) record beside the channel.
pub mod looked {
    /// Nothing was there.
    pub const NOTHING: u64 = 0;
    /// Something was there.
    pub const SOMETHING: u64 = 1;
    /// Something new was there (edge-triggered).
    pub const NEW: u64 = 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_gives_the_kind_of_its_channel() {
        let a = Channel::Pipe.number(&[1, 2]);
        assert_eq!(Channel::of(a), Some(Channel::Pipe));
        assert_eq!(Channel::of(Channel::Signal.number(&[])), Some(Channel::Signal));
        assert_ne!(a, Channel::Pipe.number(&[2, 1]));
        assert_ne!(a << 8, Channel::Stream.number(&[1, 2]) << 8);
        for address in [0, 0x7fff_ffff_f000, u64::MAX] {
            assert_eq!(Channel::of(address), None);
        }
    }
}
