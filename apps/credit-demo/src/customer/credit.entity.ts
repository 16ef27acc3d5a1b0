import { Column, Entity, PrimaryColumn } from 'typeorm';

/** `void`: released before it was asked for, so that a request which is still on its way comes too late. */
export type CreditStatus = 'reserved' | 'released' | 'refused' | 'void';

/** What became of an order's request for credit. */
@Entity('credit')
export class Credit {
  @PrimaryColumn('uuid', { name: 'order_id' })
  orderId!: string;

  @Column('text', { name: 'customer_id', nullable: true })
  customerId!: string | null;

  /** In cents. */
  @Column('int')
  amount!: number;

  @Column('text')
  status!: CreditStatus;

  /** Why it was refused. */
  @Column('text', { nullable: true })
  reason!: string | null;
}
