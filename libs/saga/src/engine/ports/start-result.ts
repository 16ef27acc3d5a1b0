import type { SagaCodecError } from '../../errors.js';

/** `created`: this call stored it. Otherwise it is the saga with the same id or correlation id. */
export type StartResult =
  | { readonly created: true; readonly leased: boolean; readonly now: number }
  | { readonly created: false; readonly existing: ExistingSaga }
  | LockRefusal;

/** Nothing was stored: `lockHolder` is the saga that has the lock, or is next to. */
export interface LockRefusal {
  readonly created: false;
  readonly existing?: undefined;
  readonly lockHolder: string;
}

export interface ExistingSaga {
  readonly id: string;
  readonly name: string;
  readonly correlationId?: string;
  /** The input that it was started with. */
  readonly input?: string;
  /** The input cannot be read here. */
  readonly unreadable?: SagaCodecError;
}
