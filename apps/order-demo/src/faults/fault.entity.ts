import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Participant } from './participants.js';

/**
 * `failing`: cannot be reached, and does nothing. `slow`: does its work at once, and answers late.
 * `ambiguous`: does its work, and the answer is lost.
 */
export const FAULT_MODES = ['failing', 'slow', 'ambiguous'] as const;
export type FaultMode = (typeof FAULT_MODES)[number];

/** How an operation of a participant misbehaves. Kept in the database, so that it holds for every process. */
@Entity('fault')
export class Fault {
  @PrimaryColumn('text')
  participant!: Participant;

  @PrimaryColumn('text')
  operation!: string;

  @Column('text')
  mode!: FaultMode;

  /** Calls that it will still hit; null: all, until it is taken away. */
  @Column('int', { nullable: true })
  remaining!: number | null;

  /** Milliseconds, for `slow`. */
  @Column('int')
  delay!: number;
}
