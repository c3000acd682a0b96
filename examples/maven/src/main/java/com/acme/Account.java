package com.acme;

/** Each method is safe by itself, and withdraw is not: it asks first and acts later. */
public class Account {
    private int balance;

    public Account(int balance) {
        this.balance = balance;
    }

    public synchronized int balance() {
        return balance;
    }

    private synchronized void add(int amount) {
        balance += amount;
    }

    public boolean withdraw(int amount) {
        if (balance() < amount) {
            return false;
        }
        add(-amount);
        return true;
    }
}
