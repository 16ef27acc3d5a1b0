import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** What the transactional step writes: no column is unique, so that whatever is doubled is seen. */
@Entity({ name: 'ledger_entry' })
export class LedgerEntry {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column({ type: 'text' })
  orderId!: string;

  @Column({ type: 'int' })
  amount!: number;
}
