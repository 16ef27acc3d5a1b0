import type { Stage } from './stage.js';

/** Something that goes wrong, again and again. */
export interface Fault {
  readonly name: string;
  /** What it does, in a sentence. */
  readonly what: string;
  /** Of the sagas' PostgreSQL, as in postgresql.conf. */
  readonly settings?: Record<string, string | number>;
  /** The sagas' PostgreSQL lives on a disk of this size, which needs the right to mount one. */
  readonly diskMegabytes?: number;
  /** Makes it happen once, and resolves when it is over. */
  inject(stage: Stage): Promise<void>;
}
