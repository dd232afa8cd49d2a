//! Molecular dynamics of the Java Grande benchmarks: threads work on parts of the particles and meet at a barrier of their
//! own making, whose words are touched without a lock on purpose. There is no bug; the twin has the library's barrier.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{self, Mutex};
use std::thread;

/// Where threads wait for each other.
pub struct Barrier<const FIXED: bool> {
    library: sync::Barrier,
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
}

impl<const FIXED: bool> Barrier<FIXED> {
    /// For so many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            library: sync::Barrier::new(threads),
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
        }
    }

    /// Waits until all have come.
    pub fn wait(&self) {
        if FIXED {
            self.library.wait();
            return;
        }
        let round = self.round.load(SeqCst);
        if self.arrived.fetch_add(1, SeqCst) + 1 == self.threads {
            self.arrived.store(0, SeqCst);
            self.round.store(round + 1, SeqCst);
        }
        while self.round.load(SeqCst) == round {
            thread::yield_now();
        }
    }
}

/// A particle on a line.
#[derive(Clone, Copy)]
struct Particle {
    place: f64,
    speed: f64,
}

/// Particles that pull each other.
pub struct World<const FIXED: bool> {
    particles: Mutex<Vec<Particle>>,
    energy: Mutex<f64>,
    barrier: Barrier<FIXED>,
}

impl<const FIXED: bool> World<FIXED> {
    /// So many particles, for so many threads.
    pub fn new(particles: usize, threads: usize) -> Self {
        let all = (0..particles).map(|place| Particle {
            place: place as f64,
            speed: 0.0,
        });
        Self {
            particles: Mutex::new(all.collect()),
            energy: Mutex::new(0.0),
            barrier: Barrier::new(threads),
        }
    }

    fn force(&self, index: usize) -> f64 {
        let particles = self.particles.lock().unwrap();
        let own = particles[index].place;
        particles.iter().map(|other| other.place - own).sum()
    }

    fn push(&self, index: usize, force: f64) {
        let mut particles = self.particles.lock().unwrap();
        particles[index].speed += force;
        particles[index].place += particles[index].speed;
    }

    /// Lets time pass for one particle; all threads have to.
    pub fn step(&self, index: usize) {
        let force = self.force(index);
        self.barrier.wait();
        self.push(index, force);
        *self.energy.lock().unwrap() += force * force;
        self.barrier.wait();
    }

    /// What was pushed so far.
    pub fn energy(&self) -> f64 {
        *self.energy.lock().unwrap()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::World;
    use std::thread;

    fn run<const FIXED: bool>() {
        let world = World::<FIXED>::new(2, 2);
        thread::scope(|scope| {
            scope.spawn(|| world.step(0));
            world.step(1);
        });
        assert_eq!(world.energy(), 2.0);
    }

    #[test]
    fn bug() {
        run::<false>();
    }

    #[test]
    pub(crate) fn twin() {
        run::<true>();
    }
}
