import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('stock')
export class Stock {
  @PrimaryColumn('text')
  sku!: string;

  /** The number of items in stock that are not reserved. The database rejects a negative number. */
  @Column('int', { name: 'on_hand' })
  onHand!: number;
}
