import type { SagaStatus } from '../machine/saga-state.js';

/** What an operator's call is told beside what it does. */
export interface OperatorCall {
  readonly by?: string;
  readonly reason?: string;
  /** The state that the operator saw; in any other, nothing happens. */
  readonly expects?: { readonly status?: SagaStatus; readonly revision?: number };
}

/** What came of it: done, or waiting for so many other people to say the same. */
export type OperatorAnswer =
  { readonly done: true } | { readonly done: false; readonly approvals: number; readonly needed: number };
