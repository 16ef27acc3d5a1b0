import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A movement of money. Entries are added, and never changed: a charge is positive, a refund negative. */
@Entity('ledger_entry')
export class LedgerEntry {
  @PrimaryGeneratedColumn('identity')
  id!: number;

  @Column('uuid', { name: 'order_id' })
  orderId!: string;

  /** In cents. */
  @Column('int')
  amount!: number;

  @CreateDateColumn({ name: 'booked_at', type: 'timestamptz' })
  bookedAt!: Date;
}
