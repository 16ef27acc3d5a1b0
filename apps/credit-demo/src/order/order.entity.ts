import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

export type OrderStatus = 'pending' | 'approved' | 'rejected';

@Entity('order')
export class Order {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('text', { name: 'customer_id' })
  customerId!: string;

  /** In cents. */
  @Column('int')
  amount!: number;

  @Column('text')
  status!: OrderStatus;

  @Column('text', { name: 'rejected_because', nullable: true })
  rejectedBecause!: string | null;

  @CreateDateColumn({ name: 'placed_at', type: 'timestamptz' })
  placedAt!: Date;
}
