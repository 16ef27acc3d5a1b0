import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('payment')
export class Payment {
  @PrimaryColumn('uuid')
  id!: string;

  /** One payment an order. */
  @Column('uuid', { name: 'order_id', unique: true })
  orderId!: string;

  /** In cents. */
  @Column('int')
  amount!: number;

  /** `void`: called off before it came. */
  @Column('text')
  status!: 'charged' | 'refunded' | 'void';
}
