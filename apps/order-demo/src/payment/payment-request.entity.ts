import { Entity } from 'typeorm';
import { HandledRequest } from '../participant/handled-request.js';

@Entity('payment_request')
export class PaymentRequest extends HandledRequest {}
