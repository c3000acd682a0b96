package com.acme;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class AccountTest {
    @Test
    public void twoWithdrawalsNeverOverdraw() throws InterruptedException {
        Account account = new Account(100);
        Thread alice = new Thread(() -> account.withdraw(80), "alice");
        Thread bob = new Thread(() -> account.withdraw(80), "bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        assertEquals(20, account.balance());
    }

    @Test
    public void nobodyElseIsThere() {
        Account account = new Account(100);
        account.withdraw(30);
        assertEquals(70, account.balance());
    }
}
