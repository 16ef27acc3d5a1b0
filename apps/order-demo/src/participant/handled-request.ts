import { Column, PrimaryColumn } from 'typeorm';

/** A request that a participant has handled, and what it answered. Each participant keeps a table of its own. */
export abstract class HandledRequest {
  @PrimaryColumn('text', { name: 'idempotency_key' })
  idempotencyKey!: string;

  @Column('jsonb', { nullable: true })
  answer!: unknown;
}
