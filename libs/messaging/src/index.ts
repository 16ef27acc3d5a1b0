export { MessageRefusedError, type OutboxMessage } from 'nestjs-durable-saga';
export { messagingMigrations } from 'nestjs-durable-saga/database';
export { SagaMessagingModule } from './messaging.module.js';
export type {
  InboxOptions,
  OutboxOptions,
  RelayOptions,
  SagaMessagingModuleOptions,
} from './messaging.options.js';
export { RELAY_POLL_INTERVAL } from './databases/messaging-database.js';
export { RETENTION_INTERVAL } from './databases/messaging-database.js';
export { type DeadMessage, type DeadMessagesFilter, Outbox } from './outbox.js';
export { Inbox, type Once, type OnceOptions } from './inbox.js';
export { DurableEvent } from './handling/decorators.js';
export type { DurableEventOptions } from './handling/durable-settings.js';
export { SagaReply, type SagaReplyOptions } from './handling/decorators.js';
export { Incoming } from './handling/incoming-message.js';
export { type IncomingMessage, incomingMessage } from './handling/incoming-message.js';
export type { MessageTransport, RelayedMessage } from './relay/message-transport.js';
export { ClientProxyTransport } from './transports/client-proxy.transport.js';
export type { EventClient } from './transports/client-senders.js';
export { JetStreamTransport, type JetStreamTransportOptions } from './transports/jetstream.transport.js';
export type { JetStreamStream } from './transports/nats-packages.js';
export type { JetStreamMessage, NatsConnectionOptions, NatsHeaders } from './transports/nats-packages.js';
export { DurableMqttServer } from './servers/durable-mqtt.server.js';
export { DurableRmqServer } from './servers/durable-rmq.server.js';
export { JetStreamContext } from './servers/jetstream.context.js';
export { JetStreamServer, type JetStreamServerOptions } from './servers/jetstream.server.js';
