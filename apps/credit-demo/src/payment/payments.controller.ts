import { Controller, Get, NotFoundException, Param, ParseUUIDPipe } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Payment } from './payment.entity.js';

@Controller('payments')
export class PaymentsController {
  constructor(private readonly dataSource: DataSource) {}

  /** What became of an order's request for payment. */
  @Get(':orderId')
  async get(@Param('orderId', ParseUUIDPipe) orderId: string): Promise<Payment> {
    const payment = await this.dataSource.manager.findOneBy(Payment, { orderId });
    if (!payment) throw new NotFoundException(`No payment was requested for the order ${orderId} yet`);
    return payment;
  }
}
