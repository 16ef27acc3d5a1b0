// The time of a simulation, and processors that work in it.

/** What happens at which time, in order. */
export class Timeline {
  #events = [];
  now = 0;

  /** @param delay from now */
  after(delay, run) {
    const time = this.now + delay;
    const place = this.#events.findLastIndex((event) => event.time <= time) + 1;
    this.#events.splice(place, 0, { time, run });
  }

  /** Lets everything happen that is before this time. */
  runUntil(end) {
    while (this.#events.length > 0 && this.now < end) {
      const event = this.#events.shift();
      this.now = event.time;
      event.run();
    }
  }
}

/** They serve in the order in which they are asked. */
export class Processors {
  #asking = [];
  #timeline;
  #free;

  constructor(timeline, count) {
    this.#timeline = timeline;
    this.#free = count;
  }

  /** @param then is called once one of them has worked for this time */
  work(time, then) {
    this.#asking.push({ time, then });
    this.#serve();
  }

  #serve() {
    while (this.#free > 0 && this.#asking.length > 0) {
      const { time, then } = this.#asking.shift();
      this.#free -= 1;
      this.#timeline.after(time, () => {
        this.#free += 1;
        then();
        this.#serve();
      });
    }
  }
}
