//! The ray tracer of the Java Grande benchmarks: threads add to one checksum, each under a lock of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What all threads render.
pub struct Scene {
    width: u64,
    checksum: AtomicU64,
    lock: Mutex<()>,
}

impl Scene {
    /// So many pixels in a row.
    pub const fn new(width: u64) -> Self {
        Self {
            width,
            checksum: AtomicU64::new(0),
            lock: Mutex::new(()),
        }
    }

    fn pixel(&self, row: u64, column: u64) -> u64 {
        (row * 31 + column * 17) % 256
    }

    fn add(&self, part: u64) {
        let sum = self.checksum.load(Relaxed);
        self.checksum.store(sum + part, Relaxed);
    }

    /// Sum over all pixels so far.
    pub fn checksum(&self) -> u64 {
        self.checksum.load(Relaxed)
    }

    /// Sum over a row.
    pub fn expected(&self, row: u64) -> u64 {
        (0..self.width).map(|column| self.pixel(row, column)).sum()
    }
}

/// Renders rows of a scene.
pub struct RayTracer<'a, const FIXED: bool> {
    scene: &'a Scene,
    own: Mutex<()>,
}

impl<'a, const FIXED: bool> RayTracer<'a, FIXED> {
    /// One that works on this scene.
    pub const fn new(scene: &'a Scene) -> Self {
        Self {
            scene,
            own: Mutex::new(()),
        }
    }

    /// Renders a row.
    pub fn render(&self, row: u64) {
        let sum = self.scene.expected(row);
        let lock = if FIXED { &self.scene.lock } else { &self.own };
        let _guard = lock.lock().unwrap();
        self.scene.add(sum);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{RayTracer, Scene};
    use std::thread;

    fn run<const FIXED: bool>() {
        let scene = Scene::new(8);
        thread::scope(|scope| {
            for row in 0..2 {
                let tracer = RayTracer::<FIXED>::new(&scene);
                scope.spawn(move || tracer.render(row));
            }
        });
        let expected: u64 = (0..2).map(|row| scene.expected(row)).sum();
        assert_eq!(scene.checksum(), expected, "the checksum is wrong");
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
