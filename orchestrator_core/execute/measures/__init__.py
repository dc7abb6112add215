"""What is done for a plan beside placing its tasks: held back, sent ahead, admitted by memory."""
