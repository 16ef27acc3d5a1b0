import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Column, DataSource, Entity, In, PrimaryColumn } from 'typeorm';

@Entity()
export class LegacyOrder {
  @PrimaryColumn() id!: string;
  @Column() sku!: string;
  @Column() cents!: number;
  @Column({ default: 'new' }) status!: 'new' | 'reserved' | 'charged' | 'shipped' | 'failed' | 'moved';
  @Column({ nullable: true, type: 'text' }) reservation!: string | null;
  @Column({ nullable: true, type: 'text' }) payment!: string | null;
  @Column({ default: 0 }) attempts!: number;
}

@Injectable()
export class Shop {
  async reserve(_sku: string, key: string): Promise<string> {
    return `reservation ${key}`;
  }
  async release(_reservation: string | undefined, _key: string): Promise<void> {}
  async charge(_cents: number, key: string): Promise<string> {
    return `payment ${key}`;
  }
  async refund(_payment: string | undefined, _key: string): Promise<void> {}
  async ship(_sku: string, _key: string): Promise<void> {}
}

@Injectable()
export class OrderCron {
  constructor(
    private readonly dataSource: DataSource,
    private readonly shop: Shop,
  ) {}

  @Cron('*/5 * * * * *')
  async tick(): Promise<void> {
    const { manager } = this.dataSource;
    const status = In(['new', 'reserved', 'charged']);
    for (const order of await manager.find(LegacyOrder, { where: { status } })) {
      try {
        await this.advance(order);
        order.attempts = 0;
      } catch {
        order.attempts += 1;
        if (order.attempts >= 5) order.status = 'failed'; // an operator must notice it
      }
      await manager.save(order);
    }
  }

  private async advance(order: LegacyOrder): Promise<void> {
    switch (order.status) {
      case 'new':
        order.reservation = await this.shop.reserve(order.sku, order.id);
        order.status = 'reserved';
        break;
      case 'reserved':
        order.payment = await this.shop.charge(order.cents, order.id);
        order.status = 'charged';
        break;
      case 'charged':
        await this.shop.ship(order.sku, order.id);
        order.status = 'shipped';
        break;
    }
  }
}
