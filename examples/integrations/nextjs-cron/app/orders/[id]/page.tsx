'use client';

import { use, useEffect, useState } from 'react';

/** In milliseconds. */
const INTERVAL = 3_000;

/** Polls the shop's own status route until the order has ended. */
export default function OrderStatus({ params }: { params: Promise<{ id: string }> }) {
  const { id } = use(params);
  const [message, setMessage] = useState('One moment, please.');

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = async () => {
      const state = await fetchState(id, setMessage);
      if (state === 'new' || state === 'paying') timer = setTimeout(poll, INTERVAL);
    };
    void poll();
    return () => clearTimeout(timer);
  }, [id]);

  return (
    <main>
      <h1>Your order</h1>
      <p>{message}</p>
    </main>
  );
}

/** A request that fails says nothing about the payment, so the page asks again. */
async function fetchState(id: string, show: (message: string) => void): Promise<string> {
  try {
    const response = await fetch(`/api/orders/${id}`);
    const { state, message } = await response.json();
    show(message);
    return response.ok ? state : 'unknown';
  } catch {
    return 'paying';
  }
}
