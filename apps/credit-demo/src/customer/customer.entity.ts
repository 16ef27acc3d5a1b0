import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('customer')
export class Customer {
  @PrimaryColumn('text')
  id!: string;

  @Column('text')
  name!: string;

  /** In cents. */
  @Column('int', { name: 'credit_limit' })
  creditLimit!: number;

  /** The reserved part of the limit, in cents: the sum of the reserved credits. */
  @Column('int', { default: 0 })
  reserved!: number;
}
