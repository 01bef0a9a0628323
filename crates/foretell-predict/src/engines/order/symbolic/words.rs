//! Words of literals, the lowest bit first, and machine arithmetic on them: every operator of the
//! trace's expressions as a circuit.
//!
//! The meaning of each is that of [`foretell_trace::expr::eval`]: two's complement that wraps,
//! shifts by the width or more, division by zero as SMT-LIB has it for bit-vectors and as the
//! semantics has it for integers.
//!
//! Words of integers have as many bits as they need, 64 at most: the highest stands for all above
//! it. So a sum has one bit more than its parts, and what is 64 bits long wraps.

use foretell_order::Lit;
use foretell_trace::Value;
use foretell_trace::expr::{ExprOp, Sort};

use super::circuit::Circuit;

/// The bits of a value or of a truth, the lowest first.
pub(super) type Word = Vec<Lit>;

/// The most bits of an integer.
const LONGEST: usize = 64;

/// The bits of two words side by side, the shorter one extended by its sign.
pub(super) fn pairs<'w>(a: &'w [Lit], b: &'w [Lit]) -> impl Iterator<Item = (Lit, Lit)> + 'w {
    let bit = |w: &[Lit], i: usize| w[i.min(w.len() - 1)];
    (0..a.len().max(b.len())).map(move |i| (bit(a, i), bit(b, i)))
}

/// An integer without the bits that only repeat its sign.
fn trimmed(mut word: Word) -> Word {
    while let [.., below, sign] = word[..]
        && below == sign
    {
        word.pop();
    }
    word
}

/// Number of bits of a sort; the largest number for integers.
pub(super) fn width(sort: Sort) -> usize {
    match sort {
        Sort::Int => 64,
        Sort::Bits(width) => usize::from(width),
        Sort::Bool => 1,
    }
}

impl Circuit<'_> {
    pub(super) fn value(&self, value: Value) -> Word {
        match value {
            Value::Int(i) => trimmed(self.number(i as u64, LONGEST)),
            Value::Bits { width, bits } => self.number(bits, usize::from(width)),
        }
    }

    fn number(&self, number: u64, width: usize) -> Word {
        (0..width).map(|i| self.constant(number >> i & 1 == 1)).collect()
    }

    pub(super) fn equal(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let differences: Word = pairs(a, b).map(|(x, y)| self.xor(x, y)).collect();
        !self.any(differences)
    }

    pub(super) fn choose(&mut self, condition: Lit, yes: &[Lit], no: &[Lit]) -> Word {
        pairs(yes, no).map(|(y, n)| self.choice(condition, y, n)).collect()
    }

    fn not(&self, a: &[Lit]) -> Word {
        a.iter().map(|&x| !x).collect()
    }

    fn is_zero(&mut self, a: &[Lit]) -> Lit {
        !self.any(a.iter().copied())
    }

    /// The sum and the carry out of it.
    fn add_with(&mut self, a: &[Lit], b: &[Lit], mut carry: Lit) -> (Word, Lit) {
        let mut sum = Vec::with_capacity(a.len());
        for (&x, &y) in a.iter().zip(b) {
            let different = self.xor(x, y);
            sum.push(self.xor(different, carry));
            carry = self.choice(different, carry, x);
        }
        (sum, carry)
    }

    fn add(&mut self, a: &[Lit], b: &[Lit]) -> Word {
        let no = self.no();
        self.add_with(a, b, no).0
    }

    fn subtract(&mut self, a: &[Lit], b: &[Lit]) -> Word {
        let (yes, b) = (self.yes(), self.not(b));
        self.add_with(a, &b, yes).0
    }

    fn negate(&mut self, a: &[Lit]) -> Word {
        let zero = self.number(0, a.len());
        self.subtract(&zero, a)
    }

    fn negate_if(&mut self, condition: Lit, a: &[Lit]) -> Word {
        let negative = self.negate(a);
        self.choose(condition, &negative, a)
    }

    fn multiply(&mut self, a: &[Lit], b: &[Lit]) -> Word {
        // The side with more constants gives the rows: a row of zeros costs nothing.
        let constants =
            |w: &[Lit]| w.iter().filter(|&&l| l == self.yes() || l == self.no()).count();
        let (a, b) = if constants(a) > constants(b) { (b, a) } else { (a, b) };
        let mut product = self.number(0, a.len());
        for (i, &bit) in b.iter().enumerate() {
            if bit == self.no() {
                continue;
            }
            let row: Word = a[..a.len() - i].iter().map(|&x| self.and(x, bit)).collect();
            let high = self.add(&product[i..], &row);
            product.truncate(i);
            product.extend(high);
        }
        product
    }

    /// `a < b`, unsigned: a − b borrows.
    fn below(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let (yes, b) = (self.yes(), self.not(b));
        !self.add_with(a, &b, yes).1
    }

    /// `a < b`, signed: unsigned with the signs flipped.
    fn less(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let flip = |w: &[Lit]| {
            let mut w = w.to_vec();
            if let Some(sign) = w.last_mut() {
                *sign = !*sign;
            }
            w
        };
        self.below(&flip(a), &flip(b))
    }

    /// `a < b` for integers.
    fn less_integer(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let (a, b): (Word, Word) = pairs(a, b).unzip();
        self.less(&a, &b)
    }

    /// Quotient and remainder, unsigned; by zero all ones and `a`.
    fn divide(&mut self, a: &[Lit], b: &[Lit]) -> (Word, Word) {
        let n = a.len();
        let no = self.no();
        let mut wide = b.to_vec();
        wide.push(no);
        let mut quotient = vec![no; n];
        // One bit wider than the words: twice a remainder below b may not fit.
        let mut rest = vec![no; n + 1];
        for i in (0..n).rev() {
            rest.pop();
            rest.insert(0, a[i]);
            let fits = !self.below(&rest, &wide);
            let less = self.subtract(&rest, &wide);
            rest = self.choose(fits, &less, &rest);
            quotient[i] = fits;
        }
        rest.truncate(n);
        (quotient, rest)
    }

    /// Quotient and remainder of absolute values, with the signs of both sides.
    fn divide_signed(&mut self, a: &[Lit], b: &[Lit]) -> SignedDivision {
        let (a_sign, b_sign) = (a[a.len() - 1], b[b.len() - 1]);
        let (a, b) = (self.negate_if(a_sign, a), self.negate_if(b_sign, b));
        let (quotient, rest) = self.divide(&a, &b);
        SignedDivision { quotient, rest, divisor: b, a_sign, b_sign }
    }

    /// Integer division with a remainder that is never negative; by zero 0 and `a`.
    fn divide_integers(&mut self, a: &[Lit], b: &[Lit]) -> (Word, Word) {
        let by_zero = self.is_zero(b);
        let d = self.divide_signed(a, b);
        let exact = self.is_zero(&d.rest);
        let up = self.and(d.a_sign, !exact);
        let mut one = self.number(0, a.len());
        one[0] = up;
        let magnitude = self.add(&d.quotient, &one);
        let negative = self.xor(d.a_sign, d.b_sign);
        let quotient = self.negate_if(negative, &magnitude);
        let complement = self.subtract(&d.divisor, &d.rest);
        let rest = self.choose(up, &complement, &d.rest);
        let zero = self.number(0, a.len());
        (self.choose(by_zero, &zero, &quotient), self.choose(by_zero, a, &rest))
    }

    /// Shifts towards the higher bits, or the lower ones; `fill` comes in.
    fn shift(&mut self, a: &[Lit], by: &[Lit], up: bool, fill: Lit) -> Word {
        let n = a.len();
        let mut word = a.to_vec();
        let mut beyond = self.no();
        for (i, &bit) in by.iter().enumerate() {
            let distance = 1usize.checked_shl(i as u32).unwrap_or(n).min(n);
            if distance >= n {
                beyond = self.or(beyond, bit);
                continue;
            }
            let shifted: Word = (0..n)
                .map(|k| {
                    let from = if up { k.checked_sub(distance) } else { Some(k + distance) };
                    from.and_then(|f| word.get(f)).copied().unwrap_or(fill)
                })
                .collect();
            word = self.choose(bit, &shifted, &word);
        }
        let filled = vec![fill; n];
        self.choose(beyond, &filled, &word)
    }

    /// An operator other than `ite` on arguments of the right sorts.
    pub(super) fn apply(&mut self, op: ExprOp, args: &[&Word]) -> Word {
        use ExprOp::*;
        match op {
            Add => self.fold(args, |c, a, b| c.integers(a, b, longer, Self::add)),
            Mul => self.fold(args, |c, a, b| c.integers(a, b, |x, y| x + y, Self::multiply)),
            Sub if args.len() == 1 => {
                let zero = vec![self.no()];
                self.integers(&zero, args[0], longer, Self::subtract)
            }
            Sub => self.fold(args, |c, a, b| c.integers(a, b, longer, Self::subtract)),
            Div => self.fold(args, |c, a, b| {
                c.integers(a, b, longer, |c, a, b| c.divide_integers(a, b).0)
            }),
            Mod => self.fold(args, |c, a, b| {
                c.integers(a, b, longer, |c, a, b| c.divide_integers(a, b).1)
            }),
            Lt => self.chain(args, Self::less_integer),
            Gt => self.chain(args, |c, a, b| c.less_integer(b, a)),
            Le => self.chain(args, |c, a, b| !c.less_integer(b, a)),
            Ge => self.chain(args, |c, a, b| !c.less_integer(a, b)),
            Eq => self.chain(args, Self::equal),
            Distinct => {
                let pairs = (0..args.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
                let differ: Word = pairs.map(|(i, j)| !self.equal(args[i], args[j])).collect();
                vec![self.all(differ)]
            }
            And => vec![self.all(args.iter().map(|a| a[0]))],
            Or => vec![self.any(args.iter().map(|a| a[0]))],
            Not => vec![!args[0][0]],
            _ => self.apply_to_bits(op, args),
        }
    }

    /// An operator on integers, with as many bits as its result can need.
    fn integers(
        &mut self,
        a: &[Lit],
        b: &[Lit],
        width: fn(usize, usize) -> usize,
        mut f: impl FnMut(&mut Self, &[Lit], &[Lit]) -> Word,
    ) -> Word {
        let width = width(a.len(), b.len()).min(LONGEST);
        let wide = |w: &[Lit]| (0..width).map(|i| w[i.min(w.len() - 1)]).collect::<Word>();
        trimmed(f(self, &wide(a), &wide(b)))
    }

    fn fold(
        &mut self,
        args: &[&Word],
        mut f: impl FnMut(&mut Self, &[Lit], &[Lit]) -> Word,
    ) -> Word {
        let mut result = args[0].clone();
        for arg in &args[1..] {
            result = f(self, &result, arg);
        }
        result
    }

    fn chain(
        &mut self,
        args: &[&Word],
        mut holds: impl FnMut(&mut Self, &[Lit], &[Lit]) -> Lit,
    ) -> Word {
        let all: Word = args.windows(2).map(|w| holds(self, w[0], w[1])).collect();
        vec![self.all(all)]
    }

    fn apply_to_bits(&mut self, op: ExprOp, args: &[&Word]) -> Word {
        use ExprOp::*;
        let a = args[0];
        let b = args.get(1).copied().unwrap_or(a);
        let sign = a[a.len() - 1];
        match op {
            BvAdd => self.add(a, b),
            BvSub => self.subtract(a, b),
            BvMul => self.multiply(a, b),
            BvNeg => self.negate(a),
            BvNot => self.not(a),
            BvUdiv => self.divide(a, b).0,
            BvUrem => self.divide(a, b).1,
            BvSdiv => {
                let d = self.divide_signed(a, b);
                let negative = self.xor(d.a_sign, d.b_sign);
                self.negate_if(negative, &d.quotient)
            }
            BvSrem => {
                let d = self.divide_signed(a, b);
                self.negate_if(d.a_sign, &d.rest)
            }
            BvSmod => {
                let d = self.divide_signed(a, b);
                let rest = self.negate_if(d.a_sign, &d.rest);
                let exact = self.is_zero(&rest);
                let signs = self.xor(d.a_sign, d.b_sign);
                let other_side = self.and(signs, !exact);
                let moved = self.add(&rest, b);
                self.choose(other_side, &moved, &rest)
            }
            BvAnd => a.iter().zip(b).map(|(&x, &y)| self.and(x, y)).collect(),
            BvOr => a.iter().zip(b).map(|(&x, &y)| self.or(x, y)).collect(),
            BvXor => a.iter().zip(b).map(|(&x, &y)| self.xor(x, y)).collect(),
            BvShl => self.shift(a, b, true, self.no()),
            BvLshr => self.shift(a, b, false, self.no()),
            BvAshr => self.shift(a, b, false, sign),
            BvUlt => vec![self.below(a, b)],
            BvUgt => vec![self.below(b, a)],
            BvUle => vec![!self.below(b, a)],
            BvUge => vec![!self.below(a, b)],
            BvSlt => vec![self.less(a, b)],
            BvSgt => vec![self.less(b, a)],
            BvSle => vec![!self.less(b, a)],
            BvSge => vec![!self.less(a, b)],
            Concat => b.iter().chain(a).copied().collect(),
            Extract(high, low) => a[usize::from(low)..=usize::from(high)].to_vec(),
            ZeroExtend(n) => self.extend(a, n, self.no()),
            // Everything else has no bit-vectors for arguments.
            _ => self.extend(a, if let SignExtend(n) = op { n } else { 0 }, sign),
        }
    }

    fn extend(&self, a: &[Lit], by: u8, with: Lit) -> Word {
        a.iter().copied().chain(std::iter::repeat_n(with, usize::from(by))).collect()
    }
}

/// One bit more than the longer of two words.
fn longer(a: usize, b: usize) -> usize {
    a.max(b) + 1
}

struct SignedDivision {
    /// Of the absolute values, as are the two below.
    quotient: Word,
    rest: Word,
    divisor: Word,
    a_sign: Lit,
    b_sign: Lit,
}
