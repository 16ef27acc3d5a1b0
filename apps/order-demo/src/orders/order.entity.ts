import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { PlaceOrderDto } from './place-order.dto.js';

export type OrderStatus = 'placed' | 'processing' | 'confirmed' | 'cancelled';

/** What the customer sees. */
@Entity('order')
export class Order {
  @PrimaryColumn('uuid')
  id!: string;

  /** The key of the request that placed it. A second request with this key gets the same order. */
  @Column('text', { name: 'idempotency_key', nullable: true, unique: true })
  idempotencyKey!: string | null;

  @Column('jsonb')
  request!: PlaceOrderDto;

  /** In cents. */
  @Column('int')
  amount!: number;

  @Column('text')
  status!: OrderStatus;

  @Column('text', { name: 'cancelled_because', nullable: true })
  cancelledBecause!: string | null;

  @Column('uuid', { name: 'tracking_number', nullable: true })
  trackingNumber!: string | null;

  @CreateDateColumn({ name: 'placed_at', type: 'timestamptz' })
  placedAt!: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt!: Date;
}
