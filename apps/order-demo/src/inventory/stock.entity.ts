import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('stock')
export class Stock {
  @PrimaryColumn('text')
  sku!: string;

  /** What is on the shelves and promised to nobody; the database refuses less than none. */
  @Column('int', { name: 'on_hand' })
  onHand!: number;
}
