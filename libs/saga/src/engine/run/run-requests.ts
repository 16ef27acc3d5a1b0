import type { SeenRequests } from './run-checkpoints.js';

/** What one run was asked to do: to cancel its saga, to pause it, or to start nothing more. */
export class RunRequests implements SeenRequests {
  /** The cancellation of the saga was requested. */
  cancelAsked = false;
  /** The state of the saga contains the cancellation. */
  cancelSeen = false;
  /** The saga pauses once the attempts in progress have ended. */
  isPausing = false;
  /** The lease is given back once the attempts in progress have ended. */
  isDraining = false;

  get pauseSeen(): boolean {
    return this.isPausing;
  }

  /** No attempt starts any more. */
  get halts(): boolean {
    return this.isDraining || this.isPausing;
  }

  /** A cancellation revokes the request to pause. */
  cancel(): void {
    this.cancelAsked = true;
    this.isPausing = false;
  }

  /** A cancellation is part of the state of the saga. */
  cancelled(): void {
    this.cancelAsked = this.cancelSeen = true;
  }
}
