import { Column, Entity, PrimaryColumn } from 'typeorm';

/** `void`: refunded before it was asked for, so that a request which is still on its way comes too late. */
export type PaymentStatus = 'paid' | 'refunded' | 'refused' | 'void';

/** What became of an order's request for payment. */
@Entity('payment')
export class Payment {
  @PrimaryColumn('uuid', { name: 'order_id' })
  orderId!: string;

  @Column('uuid')
  id!: string;

  /** In cents. */
  @Column('int')
  amount!: number;

  @Column('text')
  status!: PaymentStatus;

  /** Why it was refused. */
  @Column('text', { nullable: true })
  reason!: string | null;
}
