/** What a process's connections to the database are like. Times are milliseconds of the timeline. */
export class Link {
  /** Broken, and new ones are refused. */
  cutUntil = 0;
  /** Requests are lost, and no answer arrives. */
  hungUntil = 0;
  /** What is sent arrives, and no answer does. */
  deafUntil = 0;
  /** Hints are lost without notice. */
  unheardUntil = 0;

  hears(now: number): boolean {
    return now >= Math.max(this.cutUntil, this.hungUntil, this.deafUntil, this.unheardUntil);
  }

  restore(): void {
    this.cutUntil = this.hungUntil = this.deafUntil = this.unheardUntil = 0;
  }
}

/** The outcome of the request is unknown. */
export class ConnectionLost extends Error {
  readonly code = '08006';

  constructor() {
    super('Connection terminated unexpectedly');
  }
}
