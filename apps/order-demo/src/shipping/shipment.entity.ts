import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Address } from './address.js';

@Entity('shipment')
export class Shipment {
  /** Also its tracking number. */
  @PrimaryColumn('uuid')
  id!: string;

  /** One shipment an order. */
  @Column('uuid', { name: 'order_id', unique: true })
  orderId!: string;

  @Column('int')
  parcels!: number;

  @Column('jsonb', { nullable: true })
  address!: Address | null;

  /** `void`: called off before it came. */
  @Column('text')
  status!: 'booked' | 'cancelled' | 'void';
}
