/** What a process's connections to the database are like. Times are milliseconds of the timeline. */
export class Link {
  /** Broken, and new ones are refused. */
  cutUntil = 0;
  /** What is sent arrives nowhere, and nothing is heard. */
  hungUntil = 0;
  /** What is sent arrives, and no answer does. */
  deafUntil = 0;
  /** Hints do not arrive, and nobody knows. */
  unheardUntil = 0;

  hears(now: number): boolean {
    return now >= Math.max(this.cutUntil, this.hungUntil, this.deafUntil, this.unheardUntil);
  }

  mend(): void {
    this.cutUntil = this.hungUntil = this.deafUntil = this.unheardUntil = 0;
  }
}

/** Nobody can say whether what was asked was done. */
export class ConnectionLost extends Error {
  readonly code = '08006';

  constructor() {
    super('Connection terminated unexpectedly');
  }
}
