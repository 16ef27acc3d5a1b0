import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('reservation')
export class Reservation {
  @PrimaryColumn('uuid')
  id!: string;

  /** One reservation an order. */
  @Column('uuid', { name: 'order_id', unique: true })
  orderId!: string;

  @Column('text')
  sku!: string;

  @Column('int')
  quantity!: number;

  @Column('text')
  status!: 'held' | 'released';
}
