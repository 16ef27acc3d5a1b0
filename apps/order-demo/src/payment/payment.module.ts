import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { FaultsModule } from '../faults/faults.module.js';
import { LedgerEntry } from './ledger-entry.entity.js';
import { PaymentController } from './payment.controller.js';
import { Payment } from './payment.entity.js';
import { PaymentRequest } from './payment-request.entity.js';
import { PaymentService } from './payment.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Payment, LedgerEntry, PaymentRequest]), FaultsModule],
  controllers: [PaymentController],
  providers: [PaymentService],
  exports: [PaymentService],
})
export class PaymentModule {}
