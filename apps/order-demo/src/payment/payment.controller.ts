import { Controller, Get, Param, ParseUUIDPipe } from '@nestjs/common';
import type { LedgerEntry } from './ledger-entry.entity.js';
import { PaymentService } from './payment.service.js';

@Controller('payments')
export class PaymentController {
  constructor(private readonly payments: PaymentService) {}

  @Get(':orderId')
  ledger(@Param('orderId', ParseUUIDPipe) orderId: string): Promise<LedgerEntry[]> {
    return this.payments.ledger(orderId);
  }
}
