import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A message that reached a service: what it was, and which trace it belonged to. Each service keeps its own. */
@Entity('hop')
export class Hop {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text', { name: 'message_id' })
  messageId!: string;

  @Column('text')
  type!: string;

  @Column('uuid', { name: 'order_id' })
  orderId!: string;

  /** W3C trace context: `00-<trace id>-<span id>-<flags>`. */
  @Column('text', { nullable: true })
  traceparent!: string | null;

  /** False: it came again, and nothing was done. */
  @Column('boolean')
  handled!: boolean;

  @CreateDateColumn({ type: 'timestamptz' })
  at!: Date;
}
